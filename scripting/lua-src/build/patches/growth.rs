//! Faster growth of tables. The sizes, the positions of keys and so the order of `pairs` are unchanged.

use super::Change;
use super::Edit::{Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "A name that is put into a hash part that has just been made is not there yet, nor is it \
              ever in the array part, so it is not searched for.",
        edits: &[
            (
                "ltable.c",
                Replace(
                    "    if (!ttisnil(gval(old)))
      setobjt2t(L, luaH_set(L, t, key2tval(old)), gval(old));
",
                    "    if (!ttisnil(gval(old))) {
      TValue *slot = ttisstring(gkey(old)) ? newkey(L, t, key2tval(old))
                                           : luaH_set(L, t, key2tval(old));
      setobjt2t(L, slot, gval(old));
    }
",
                ),
            ),
            (
                "ltable.c",
                Before(
                    "      return luaH_set(L, t, key);  /* re-insert key into grown table */\n",
                    "      if (ttisstring(key)) return newkey(L, t, key);\n",
                ),
            ),
            (
                "ltable.c",
                Before(
                    "static void resize (lua_State *L, Table *t, int nasize, int nhsize) {\n",
                    "static TValue *newkey (lua_State *L, Table *t, const TValue *key);\n\n",
                ),
            ),
        ],
    },
    Change {
        why: "Most tables hold names alone, or elements that come one after the other: their new sizes \
              are known without counting keys by their size.",
        edits: &[
            (
                "ltable.c",
                Before(
                    "static void rehash (lua_State *L, Table *t, const TValue *ek) {\n",
                    "/* a table of names grows by another: 0, and nothing is done, if it is none */
static int addname (lua_State *L, Table *t) {
  int i, names = 1;
  if (t->sizearray > 0) return 0;
  for (i = 0; i < sizenode(t); i++) {
    const Node *n = gnode(t, i);
    if (ttisnil(gval(n))) continue;
    if (ttisnumber(gkey(n))) return 0;
    names++;
  }
  resize(L, t, 0, names);
  return 1;
}

/* a list without gaps grows by the element behind it, likewise; its size is a power of two */
static int addelement (lua_State *L, Table *t, lua_Number key) {
  int i, size = t->sizearray;
  if (t->node != dummynode || (size & (size - 1)) != 0 || size >= MAXASIZE ||
      !luai_numeq(key, cast_num(size) + 1))
    return 0;
  for (i = 0; i < size; i++) {
    if (ttisnil(&t->array[i])) return 0;
  }
  resize(L, t, size > 0 ? 2 * size : 1, 0);
  return 1;
}

",
                ),
            ),
            (
                "ltable.c",
                Before(
                    "  for (i=0; i<=MAXBITS; i++) nums[i] = 0;  /* reset counts */\n",
                    "  if (ttisstring(ek) ? addname(L, t) : ttisnumber(ek) && addelement(L, t, nvalue(ek))) return;\n",
                ),
            ),
        ],
    },
];

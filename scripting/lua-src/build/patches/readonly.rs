//! Tables that a script cannot change, as Redis' own Lua has them, and the tables `KEYS` and `ARGV`.

use super::Change;
use super::Edit::{After, Append, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lobject.h",
        why: "the flag lies in the header's padding, and so does the count of slots that the block of the array has \
              beyond its size",
        edit: After(
            "  lu_byte lsizenode;  /* log2 of size of `node' array */\n",
            "  lu_byte readonly;\n  lu_byte spare;\n",
        ),
    },
    Change {
        file: "ltable.c",
        why: "tables are made writable",
        edit: After("  t->flags = cast_byte(~0);\n", "  t->readonly = 0;\n  t->spare = 0;\n"),
    },
    Change {
        file: "lvm.c",
        why: "assignment from Lua and lua_settable",
        edit: Replace(
            "      TValue *oldval = luaH_set(L, h, key); /* do a primitive set */\n",
            "      TValue *oldval;\n      \
             if (h->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n      \
             oldval = luaH_set(L, h, key);\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "rawset",
        edit: Before(
            "  setobj2t(L, luaH_set(L, hvalue(t), L->top-2), L->top-1);\n",
            "  if (hvalue(t)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "table.insert, remove and sort",
        edit: Before(
            "  setobj2t(L, luaH_setnum(L, hvalue(o), n), L->top-1);\n",
            "  if (hvalue(o)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "setmetatable",
        edit: Before(
            "      hvalue(obj)->metatable = mt;\n",
            "      if (hvalue(obj)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "the host sets the flag",
        edit: Append(
            "LUA_API void lua_setreadonly (lua_State *L, int idx, int on) {
  StkId t = index2adr(L, idx);
  api_check(L, ttistable(t));
  hvalue(t)->readonly = cast_byte(on != 0);
}

LUA_API int lua_isreadonly (lua_State *L, int idx) {
  StkId t = index2adr(L, idx);
  api_check(L, ttistable(t));
  return hvalue(t)->readonly;
}
",
        ),
    },
    Change {
        file: "ltable.h",
        why: "declares the next",
        edit: After(
            "LUAI_FUNC void luaH_free (lua_State *L, Table *t);\n",
            "LUAI_FUNC void luaH_renew (lua_State *L, Table *t, int narray);\n",
        ),
    },
    Change {
        file: "ltable.c",
        why: "a table of the host's own is made as if new, without the cost of a new one",
        edit: Append(
            "void luaH_renew (lua_State *L, Table *t, int narray) {
  int i;
  t->metatable = NULL;
  t->flags = cast_byte(~0);
  t->readonly = 0;
  if (t->node != dummynode) {
    luaM_freearray(L, t->node, sizenode(t), Node);
    t->node = cast(Node *, dummynode);
    t->lsizenode = 0;
    t->lastfree = NULL;
  }
  if (t->sizearray != narray) {
    int old = t->sizearray;
    int room = old + t->spare;
    if (narray > room || room - narray > 8) {
      luaM_reallocvector(L, t->array, room, narray, TValue);
      room = narray;
    }
    for (i = old; i < narray; i++)
      setnilvalue(&t->array[i]);
    t->sizearray = narray;
    t->spare = cast_byte(room - narray);
  }
}
",
        ),
    },
    Change {
        file: "ltable.c",
        why: "a script that adds to such a table gets it without spare slots",
        edit: After(
            "static void resize (lua_State *L, Table *t, int nasize, int nhsize) {
  int i;
  int oldasize = t->sizearray;
  int oldhsize = t->lsizenode;
  Node *nold = t->node;  /* save old hash ... */
",
            "  if (t->spare > 0) {
    luaM_reallocvector(L, t->array, oldasize + t->spare, oldasize, TValue);
    t->spare = 0;
  }
",
        ),
    },
    Change {
        file: "ltable.c",
        why: "they are freed with the others",
        edit: Replace(
            "  luaM_freearray(L, t->array, t->sizearray, TValue);\n",
            "  luaM_freearray(L, t->array, t->sizearray + t->spare, TValue);\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "the same for the host, and a string put into such a table in one call",
        edit: Append(
            "LUA_API void lua_renewtable (lua_State *L, int idx, int narray) {
  StkId t = index2adr(L, idx);
  api_check(L, ttistable(t));
  luaH_renew(L, hvalue(t), narray);
}

LUA_API void lua_setarraystring (lua_State *L, int idx, int i, const char *s, size_t len) {
  Table *t = hvalue(index2adr(L, idx));
  TValue *slot = &t->array[i];
  api_check(L, i >= 0 && i < t->sizearray);
  setsvalue(L, slot, luaS_newlstr(L, s, len));
  luaC_barriert(L, t, slot);
}
",
        ),
    },
];

//! Tables that a script cannot change, as in Redis' own Lua, and tables that the host renews.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "A table carries a flag that makes it read-only, and a count of slots that its array's \
              block has beyond its size; both lie in the header's padding.",
        edits: &[
            (
                "lobject.h",
                After(
                    "  lu_byte lsizenode;  /* log2 of size of `node' array */\n",
                    "  lu_byte readonly;\n  lu_byte spare;\n",
                ),
            ),
            ("ltable.c", After("  t->flags = cast_byte(~0);\n", "  t->readonly = 0;\n  t->spare = 0;\n")),
        ],
    },
    Change {
        why: "No way of writing to a table passes the flag by: assignment and `lua_settable`, \
              `rawset`, `table.insert` and its like, `setmetatable`.",
        edits: &[
            (
                "lvm.c",
                Replace(
                    "      TValue *oldval = luaH_set(L, h, key); /* do a primitive set */\n",
                    "      TValue *oldval;\n      \
             if (h->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n      \
             oldval = luaH_set(L, h, key);\n",
                ),
            ),
            (
                "lapi.c",
                Before(
                    "  setobj2t(L, luaH_set(L, hvalue(t), L->top-2), L->top-1);\n",
                    "  if (hvalue(t)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
                ),
            ),
            (
                "lapi.c",
                Before(
                    "  setobj2t(L, luaH_setnum(L, hvalue(o), n), L->top-1);\n",
                    "  if (hvalue(o)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
                ),
            ),
            (
                "lapi.c",
                Before(
                    "      hvalue(obj)->metatable = mt;\n",
                    "      if (hvalue(obj)->readonly) luaG_runerror(L, \"Attempt to modify a readonly table\");\n",
                ),
            ),
        ],
    },
    Change {
        why: "The host renews its tables in place, for which it must know the node that tables without \
              fields share.",
        edits: &[(
            "ltable.c",
            Replace(
                "#define dummynode\t\t(&dummynode_)\n\nstatic const Node dummynode_ = {\n",
                "#define dummynode\t\t(&luaH_dummynode)\n\nconst Node luaH_dummynode = {\n",
            ),
        )],
    },
    Change {
        why: "A script that adds to a renewed table gets it without spare slots, and they are freed \
              with the others.",
        edits: &[
            (
                "ltable.c",
                After(
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
            ),
            (
                "ltable.c",
                Replace(
                    "  luaM_freearray(L, t->array, t->sizearray, TValue);\n",
                    "  luaM_freearray(L, t->array, t->sizearray + t->spare, TValue);\n",
                ),
            ),
        ],
    },
];

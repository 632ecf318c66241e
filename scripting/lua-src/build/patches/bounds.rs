//! Known holes of Lua 5.1.5: reads and writes out of bounds, things freed while in use, code that is not text.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "CVE-2025-46817: the number of results of `unpack` overflowed.",
        edits: &[
            (
                "lbaselib.c",
                Replace(
                    "  int i, e, n;\n  luaL_checktype(L, 1, LUA_TTABLE);\n",
                    "  int i, e;\n  unsigned int n;\n  luaL_checktype(L, 1, LUA_TTABLE);\n",
                ),
            ),
            (
                "lbaselib.c",
                Replace(
                    "  n = e - i + 1;  /* number of elements */
  if (n <= 0 || !lua_checkstack(L, n))  /* n <= 0 means arith. overflow */
",
                    "  n = (unsigned int)e - (unsigned int)i;  /* number of elements less one */
  if (n >= LUAI_MAXCSTACK || !lua_checkstack(L, (int)++n))
",
                ),
            ),
            (
                "lbaselib.c",
                Replace(
                    "  while (i++ < e)  /* push arg[i + 1...e] */\n    lua_rawgeti(L, 1, i);\n  return n;\n",
                    "  while (i++ < e)  /* push arg[i + 1...e] */\n    lua_rawgeti(L, 1, i);\n  return (int)n;\n",
                ),
            ),
        ],
    },
    Change {
        why: "CVE-2025-49844: the chunk's name was collected while it was being parsed.",
        edits: &[
            (
                "lparser.c",
                Replace(
                    "  luaX_setinput(L, &lexstate, z, luaS_new(L, name));\n",
                    "  setsvalue2s(L, L->top, luaS_new(L, name));
  incr_top(L);
  luaX_setinput(L, &lexstate, z, rawtsvalue(L->top - 1));
",
                ),
            ),
            (
                "lparser.c",
                Replace(
                    "  lua_assert(lexstate.fs == NULL);\n  return funcstate.f;\n",
                    "  lua_assert(lexstate.fs == NULL);\n  L->top--;  /* the name */\n  return funcstate.f;\n",
                ),
            ),
        ],
    },
    Change {
        why: "CVE-2025-46819: a count of many `=` overflowed.",
        edits: &[(
            "llex.c",
            After(
                "    save_and_next(ls);\n    count++;\n",
                "    if (count > (1 << 24))\n      \
             luaX_lexerror(ls, \"invalid long string delimiter\", TK_STRING);\n",
            ),
        )],
    },
    Change {
        why: "CVE-2015-4335: byte code is never loaded; its first byte is an error of syntax like any other.",
        edits: &[(
            "ldo.c",
            Replace(
                "  int c = luaZ_lookahead(p->z);
  luaC_checkGC(L);
  tf = ((c == LUA_SIGNATURE[0]) ? luaU_undump : luaY_parser)(L, p->z,
                                                             &p->buff, p->name);
",
                "  luaC_checkGC(L);\n  luaZ_lookahead(p->z);\n  tf = luaY_parser(L, p->z, &p->buff, p->name);\n",
            ),
        )],
    },
    Change {
        why: "`string.byte` of a slice near the largest integer overflowed.",
        edits: &[(
            "lstrlib.c",
            Before(
                "  if (posi + n <= pose)  /* overflow? */\n",
                "  if (pose - posi >= LUAI_MAXCSTACK) luaL_error(L, \"stack overflow (string slice too long)\");\n",
            ),
        )],
    },
];

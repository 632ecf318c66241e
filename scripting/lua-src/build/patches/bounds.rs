//! Known vulnerabilities of Lua 5.1.5: accesses out of bounds, use after free, and loading of byte code.

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
    Change {
        why: "CVE-2024-46981, as far as it concerns finalizers: those of `newproxy` ran while garbage was collected, \
              also between scripts. None runs.",
        edits: &[(
            "lgc.c",
            Replace(
                "    else if (fasttm(L, gco2u(curr)->metatable, TM_GC) == NULL) {
      markfinalized(gco2u(curr));  /* don't need finalization */
      p = &curr->gch.next;
    }
    else {  /* must call its gc method */
      deadmem += sizeudata(gco2u(curr));
      markfinalized(gco2u(curr));
      *p = curr->gch.next;
      /* link `curr' at the end of `tmudata' list */
      if (g->tmudata == NULL)  /* list is empty? */
        g->tmudata = curr->gch.next = curr;  /* creates a circular list */
      else {
        curr->gch.next = g->tmudata->gch.next;
        g->tmudata->gch.next = curr;
        g->tmudata = curr;
      }
    }
",
                "    else {
      markfinalized(gco2u(curr));  /* don't need finalization */
      p = &curr->gch.next;
    }
",
            ),
        )],
    },
    Change {
        why: "`setfenv(0, t)` gave the state other globals than those that the server looks into.",
        edits: &[(
            "lbaselib.c",
            Replace(
                "  if (lua_isnumber(L, 1) && lua_tonumber(L, 1) == 0) {
    /* change environment of current thread */
    lua_pushthread(L);
    lua_insert(L, -2);
    lua_setfenv(L, -2);
    return 0;
  }
  else if (lua_iscfunction(L, -2) || lua_setfenv(L, -2) == 0)
",
                "  if ((lua_isnumber(L, 1) && lua_tonumber(L, 1) == 0) || lua_iscfunction(L, -2) ||
      lua_setfenv(L, -2) == 0)
",
            ),
        )],
    },
];

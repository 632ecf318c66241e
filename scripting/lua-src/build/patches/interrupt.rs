//! Interruption: one word of memory, which any thread may set, stops every kind of loop. A script cannot catch that;
//! see `c/interrupt.c`.

use super::Change;
use super::Edit::{After, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        why: "The state knows what the test for an interruption reads and whom it asks, how deep \
              patterns are nested, and whether this run was ended from outside; until the host names a \
              word of its own, the test reads one that is never set.",
        edits: &[
            (
                "lstate.h",
                After(
                    "  TString *tmname[TM_N];  /* array with tag-method names */\n",
                    "  const volatile unsigned int *interrupt;
  unsigned int interruptmask;
  int (*interruptf) (void *ud);
  void *interruptud;
  unsigned int matchdepth;
  lu_byte killed;
",
                ),
            ),
            (
                "lstate.c",
                Before(
                    "LUA_API lua_State *lua_newstate (lua_Alloc f, void *ud) {\n",
                    "static const volatile unsigned int nointerrupt = 0;\n\n",
                ),
            ),
            (
                "lstate.c",
                After(
                    "  g->gcdept = 0;\n",
                    "  g->interrupt = &nointerrupt;
  g->interruptmask = 0;
  g->interruptf = NULL;
  g->interruptud = NULL;
  g->matchdepth = 0;
  g->killed = 0;
",
                ),
            ),
        ],
    },
    Change {
        why: "All files that see the state see what is added to Lua.",
        edits: &[
            ("lstate.h", Before("#define G(L)\t(L->l_G)\n", "#include \"host.h\"\n\n")),
            ("lbaselib.c", After("#include \"lualib.h\"\n", "#include \"lstate.h\"\n")),
            ("ltablib.c", After("#include \"lualib.h\"\n", "#include \"lstate.h\"\n")),
            ("lstrlib.c", After("#include \"lualib.h\"\n", "#include \"lstate.h\"\n")),
            ("lauxlib.c", After("#include \"lauxlib.h\"\n", "#include \"lstate.h\"\n")),
        ],
    },
    Change {
        why: "Every loop of a script jumps backwards, and recursion and tail calls enter a function: \
              there the test is made.",
        edits: &[
            (
                "lvm.c",
                Replace(
                    "#define dojump(L,pc,i)	{(pc) += (i); luai_threadyield(L);}\n",
                    "#define dojump(L,pc,i)	{ int jump_ = (i); (pc) += jump_; \\
  if (jump_ < 0 && luai_pending(L)) { L->savedpc = (pc) - jump_; luaD_poll(L); } }\n",
                ),
            ),
            (
                "ldo.c",
                After(
                    "  if (!cl->isC) {  /* Lua function? prepare its call */\n    \
             CallInfo *ci;\n    StkId st, base;\n    Proto *p = cl->p;\n",
                    "    luai_poll(L);\n",
                ),
            ),
        ],
    },
    Change {
        why: "With that, no hook is tested for before each instruction: line and count hooks are gone.",
        edits: &[(
            "lvm.c",
            Replace(
                "    if ((L->hookmask & (LUA_MASKLINE | LUA_MASKCOUNT)) &&
        (--L->hookcount == 0 || L->hookmask & LUA_MASKLINE)) {
      traceexec(L, pc);
      if (L->status == LUA_YIELD) {  /* did hook yield? */
        L->savedpc = pc - 1;
        return;
      }
      base = L->base;
    }
",
                "",
            ),
        )],
    },
    Change {
        why: "A kill passes through `pcall`, Redis' `pcall` gives the text of an error reply and not \
              its table, and the place of the status is taken first, as many results may leave no room \
              for it.",
        edits: &[(
            "lbaselib.c",
            Replace(
                "  luaL_checkany(L, 1);
  status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  lua_pushboolean(L, (status == 0));
  lua_insert(L, 1);
",
                "  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  if (status != 0) {
    if (lua_iskilled(L)) lua_error(L);
    if (lua_istable(L, -1)) {
      lua_pushliteral(L, \"err\");
      lua_rawget(L, -2);
      if (lua_isstring(L, -1)) lua_replace(L, -2);
      else lua_pop(L, 1);
    }
    lua_pushboolean(L, 0);
    lua_replace(L, 1);
  }
",
            ),
        )],
    },
    Change {
        why: "A kill passes through `xpcall`, through `load`, which protects the script's own reader, \
              and through coroutines.",
        edits: &[
            (
                "lbaselib.c",
                After(
                    "  status = lua_pcall(L, 0, LUA_MULTRET, 1);\n",
                    "  if (status != 0 && lua_iskilled(L)) lua_error(L);\n  lua_checkstack(L, 1);\n",
                ),
            ),
            (
                "lbaselib.c",
                After(
                    "static int load_aux (lua_State *L, int status) {\n",
                    "  if (status != 0 && lua_iskilled(L)) lua_error(L);\n",
                ),
            ),
            (
                "lbaselib.c",
                After(
                    "    lua_xmove(co, L, 1);  /* move error message */\n",
                    "    if (lua_iskilled(L)) lua_error(L);\n",
                ),
            ),
        ],
    },
    Change {
        why: "`table.insert` at a far negative position moves two thousand million places.",
        edits: &[(
            "ltablib.c",
            After("      for (i = e; i > pos; i--) {  /* move up elements */\n", "        luai_poll(L);\n"),
        )],
    },
    Change {
        why: "Every library function that builds a long string asks for space once a buffer, and there \
              the test is made.",
        edits: &[(
            "lauxlib.c",
            Before(
                "  if (emptybuffer(B))\n    adjuststack(B);\n  return B->buffer;\n",
                "  luai_poll(B->L);\n",
            ),
        )],
    },
    Change {
        why: "`string.rep` and its like add by pieces and not by bytes.",
        edits: &[(
            "lauxlib.c",
            Replace(
                "  while (l--)\n    luaL_addchar(B, *s++);\n",
                "  while (l > 0) {
    size_t n = bufffree(B);
    if (n == 0) {
      luaL_prepbuffer(B);
      n = bufffree(B);
    }
    if (n > l) n = l;
    memcpy(B->p, s, n);
    B->p += n;
    s += n;
    l -= n;
  }
",
            ),
        )],
    },
    Change {
        why: "`string.rep` of nothing would go round two thousand million times.",
        edits: &[(
            "lstrlib.c",
            After("  int n = luaL_checkint(L, 2);\n  luaL_buffinit(L, &b);\n", "  if (l == 0) n = 0;\n"),
        )],
    },
];

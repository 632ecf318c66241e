//! One word of memory, that any thread may set, stops every shape of loop, and nothing catches that.
//!
//! Lua's own hooks belong to one coroutine, can be set by the running thread only, and cost a test for each
//! instruction. Here the test is made where code can repeat itself: on a jump backwards and on entering a Lua function;
//! and in every loop of the C libraries that a script can make long.

use super::Change;
use super::Edit::{After, Append, Before, Replace};

pub(super) const CHANGES: &[Change] = &[
    Change {
        file: "lstate.h",
        why: "what the test reads and whom it asks; whether this run was ended from outside",
        edit: After(
            "  TString *tmname[TM_N];  /* array with tag-method names */\n",
            "  const volatile unsigned int *interrupt;
  unsigned int interruptmask;
  int (*interruptf) (void *ud);
  void *interruptud;
  unsigned int matchdepth;
  lu_byte killed;
",
        ),
    },
    Change {
        file: "lstate.h",
        why: "the test",
        edit: Before(
            "#define G(L)	(L->l_G)\n",
            "#define luai_pending(L)	(*G(L)->interrupt & G(L)->interruptmask)
#define luai_poll(L)	{ if (luai_pending(L)) luaD_poll(L); }
",
        ),
    },
    Change {
        file: "lstate.c",
        why: "a word that is never set, until the host names its own",
        edit: Before(
            "LUA_API lua_State *lua_newstate (lua_Alloc f, void *ud) {\n",
            "static const volatile unsigned int nointerrupt = 0;\n\n",
        ),
    },
    Change {
        file: "lstate.c",
        why: "first values",
        edit: After(
            "  g->gcdept = 0;\n",
            "  g->interrupt = &nointerrupt;
  g->interruptmask = 0;
  g->interruptf = NULL;
  g->interruptud = NULL;
  g->matchdepth = 0;
  g->killed = 0;
",
        ),
    },
    Change {
        file: "ldo.h",
        why: "declares the next",
        edit: Before(
            "LUAI_FUNC int luaD_rawrunprotected",
            "LUAI_FUNC void luaD_poll (lua_State *L);\n",
        ),
    },
    Change {
        file: "ldo.c",
        why: "asks the host; if it says so the run ends with an error that nothing catches",
        edit: Append(
            "void luaD_poll (lua_State *L) {
  global_State *g = G(L);
  if (g->interruptf && (*g->interruptf)(g->interruptud)) {
    g->killed = 1;
    setsvalue2s(L, L->top, luaS_newliteral(L, \"Script killed by user with SCRIPT KILL...\"));
    incr_top(L);
    luaG_errormsg(L);
  }
}
",
        ),
    },
    Change {
        file: "lvm.c",
        why: "loops jump backwards",
        edit: Replace(
            "#define dojump(L,pc,i)	{(pc) += (i); luai_threadyield(L);}\n",
            "#define dojump(L,pc,i)	{ int jump_ = (i); (pc) += jump_; \\
  if (jump_ < 0 && luai_pending(L)) { L->savedpc = (pc) - jump_; luaD_poll(L); } }\n",
        ),
    },
    Change {
        file: "lvm.c",
        why: "no test for each instruction any more; line and count hooks are gone",
        edit: Replace(
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
    },
    Change {
        file: "ldo.c",
        why: "recursion and tail calls enter functions",
        edit: After(
            "  if (!cl->isC) {  /* Lua function? prepare its call */\n    \
             CallInfo *ci;\n    StkId st, base;\n    Proto *p = cl->p;\n",
            "    luai_poll(L);\n",
        ),
    },
    Change {
        file: "lapi.c",
        why: "the host's side",
        edit: Append(
            "LUA_API void lua_setinterrupt (lua_State *L, const volatile unsigned int *word, unsigned int mask,
                               int (*f) (void *ud), void *ud) {
  global_State *g = G(L);
  g->interrupt = word;
  g->interruptmask = mask;
  g->interruptf = f;
  g->interruptud = ud;
}

LUA_API int lua_iskilled (lua_State *L) {
  return G(L)->killed;
}

LUA_API void lua_setkilled (lua_State *L, int on) {
  G(L)->killed = cast_byte(on != 0);
}
",
        ),
    },
    Change {
        file: "lua.h",
        why: "for the libraries",
        edit: After(
            "LUA_API int   (lua_error) (lua_State *L);\n",
            "LUA_API int   (lua_iskilled) (lua_State *L);\n",
        ),
    },
    Change {
        file: "lbaselib.c",
        why: "a kill passes through pcall; Redis' pcall gives the text of an error reply, not its table; and the place \
              of the status is taken first, as many results may leave no room for it",
        edit: Replace(
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
    },
    Change {
        file: "lbaselib.c",
        why: "a kill passes through xpcall",
        edit: After(
            "  status = lua_pcall(L, 0, LUA_MULTRET, 1);\n",
            "  if (status != 0 && lua_iskilled(L)) lua_error(L);\n  lua_checkstack(L, 1);\n",
        ),
    },
    Change {
        file: "lbaselib.c",
        why: "a kill passes through load, which protects the script's own reader",
        edit: After(
            "static int load_aux (lua_State *L, int status) {\n",
            "  if (status != 0 && lua_iskilled(L)) lua_error(L);\n",
        ),
    },
    Change {
        file: "lbaselib.c",
        why: "a kill passes through coroutines",
        edit: After(
            "    lua_xmove(co, L, 1);  /* move error message */\n",
            "    if (lua_iskilled(L)) lua_error(L);\n",
        ),
    },
    Change {
        file: "ltablib.c",
        why: "the internals that the test needs",
        edit: After("#include \"lualib.h\"\n", "#include \"ldo.h\"\n#include \"lstate.h\"\n"),
    },
    Change {
        file: "ltablib.c",
        why: "table.insert at a far negative position moves two thousand million places",
        edit: After("      for (i = e; i > pos; i--) {  /* move up elements */\n", "        luai_poll(L);\n"),
    },
    Change {
        file: "lauxlib.c",
        why: "the internals that the test needs",
        edit: After("#include \"lauxlib.h\"\n", "#include \"ldo.h\"\n#include \"lstate.h\"\n"),
    },
    Change {
        file: "lauxlib.c",
        why: "every library function that builds a long string comes here once a buffer",
        edit: Before("  if (emptybuffer(B))\n    adjuststack(B);\n  return B->buffer;\n", "  luai_poll(B->L);\n"),
    },
    Change {
        file: "lauxlib.c",
        why: "string.rep and its like by pieces, not by bytes",
        edit: Replace(
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
    },
    Change {
        file: "lstrlib.c",
        why: "string.rep of nothing, two thousand million times",
        edit: After("  int n = luaL_checkint(L, 2);\n  luaL_buffinit(L, &b);\n", "  if (l == 0) n = 0;\n"),
    },
];

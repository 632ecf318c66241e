/*
** An interruption: one word of memory, that any thread may set, stops every shape of loop, and nothing catches that.
**
** Lua's own hooks belong to one coroutine, can be set by the running thread only, and cost a test for each
** instruction. Here the test is made where code can repeat itself: on a jump backwards and on entering a Lua function;
** and in every loop of the C libraries that a script can make long.
*/

#include "lua.h"

#include "ldebug.h"
#include "ldo.h"
#include "lstate.h"
#include "lstring.h"

/* The host works on the interpreter, too, where no error could be caught: then it is not asked. */
void luaD_poll (lua_State *L) {
  global_State *g = G(L);
  if (g->interruptf && L->errorJmp && (*g->interruptf)(g->interruptud)) {
    g->killed = 1;
    setsvalue2s(L, L->top, luaS_newliteral(L, "Script killed by user with SCRIPT KILL..."));
    incr_top(L);
    luaG_errormsg(L);
  }
}

/* Names the word, the bits of it that interrupt, and whom to ask then. */
LUA_API void lua_setinterrupt (lua_State *L, const volatile unsigned int *word, unsigned int mask,
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

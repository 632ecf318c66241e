/* What the host does beyond Lua's own interface. */

#include "lua.h"

#include "lgc.h"
#include "lmem.h"
#include "lobject.h"
#include "lstate.h"
#include "lstring.h"
#include "ltable.h"

/* The table at an index of any kind. */
static Table *tableat (lua_State *L, int idx) {
  api_check(L, lua_type(L, idx) == LUA_TTABLE);
  return cast(Table *, lua_topointer(L, idx));
}

LUA_API void lua_setreadonly (lua_State *L, int idx, int on) {
  tableat(L, idx)->readonly = cast_byte(on != 0);
}

LUA_API int lua_isreadonly (lua_State *L, int idx) {
  return tableat(L, idx)->readonly;
}

/* The table at an index that counts from the bottom, from 1: the quick way, taken for every argument of a script. */
static Table *tablefrombottom (lua_State *L, int idx) {
  StkId t = L->base + (idx - 1);
  api_check(L, idx >= 1 && t < L->top && ttistable(t));
  return hvalue(t);
}

/* Makes a table of the host's own as if new, without the cost of a new one; a slot keeps what is in it. */
LUA_API void lua_renewtable (lua_State *L, int idx, int narray) {
  Table *t = tablefrombottom(L, idx);
  int i;
  t->metatable = NULL;
  t->flags = cast_byte(~0);
  t->readonly = 0;
  if (t->node != &luaH_dummynode) {
    luaM_freearray(L, t->node, sizenode(t), Node);
    t->node = cast(Node *, &luaH_dummynode);
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

/* Puts a string into a slot, counted from 0, of such a table. */
LUA_API void lua_setarraystring (lua_State *L, int idx, int i, const char *s, size_t len) {
  Table *t = tablefrombottom(L, idx);
  TValue *slot = &t->array[i];
  api_check(L, i >= 0 && i < t->sizearray);
  setsvalue(L, slot, luaS_newlstr(L, s, len));
  luaC_barriert(L, t, slot);
}

typedef struct Slice { const char *text; size_t len; } Slice;

/* All arguments of a command in one call; what is a number has no text yet. */
LUA_API int lua_arguments (lua_State *L, Slice *out, int count) {
  int i, kinds = 1;
  for (i = 0; i < count; i++) {
    const TValue *o = L->base + i;
    if (ttisstring(o)) {
      out[i].text = svalue(o);
      out[i].len = tsvalue(o)->len;
    }
    else if (ttisnumber(o)) {
      out[i].text = NULL;
      kinds = 2;
    }
    else
      return 0;
  }
  return kinds;
}

/* Settings of the collector that a script has changed end with it. */
LUA_API void lua_tunegc (lua_State *L, int pause, int stepmul, size_t memlimit) {
  global_State *g = G(L);
  g->gcpause = pause;
  g->gcstepmul = stepmul;
  g->memlimit = memlimit;
  if (g->GCthreshold == MAX_LUMEM)
    g->GCthreshold = g->totalbytes;
}

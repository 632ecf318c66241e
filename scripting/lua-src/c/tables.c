/* Tables as the host's libraries walk and fill them: without a search for the key before, and without an error. */

#include "lua.h"

#include "lgc.h"
#include "lobject.h"
#include "lstate.h"
#include "lstring.h"
#include "ltable.h"

/* Empty slots that are passed in one step. */
#define MAXEMPTY 4096

/* A value as it lies in a table: the text of a string, a number, a boolean, the address of a light userdata. */
typedef struct View {
  union { const char *text; lua_Number number; const void *address; long boolean; } u;
  size_t len;
  int type;
} View;

static void view (const TValue *o, View *out) {
  out->type = ttype(o);
  switch (ttype(o)) {
    case LUA_TSTRING: out->u.text = svalue(o); out->len = tsvalue(o)->len; break;
    case LUA_TNUMBER: out->u.number = nvalue(o); break;
    case LUA_TBOOLEAN: out->u.boolean = bvalue(o); break;
    case LUA_TLIGHTUSERDATA: out->u.address = pvalue(o); break;
    default: break;
  }
}

/* the table at an index that counts from the bottom, from 1; an empty one if there is none */
static const Table *tableat (lua_State *L, int idx) {
  static const Table empty = { .node = (Node *)&luaH_dummynode };
  StkId t = L->base + (idx - 1);
  return (idx >= 1 && t < L->top && ttistable(t)) ? hvalue(t) : &empty;
}

/*
** Shows the first field of the table at an index from a position on, in the order of `lua_next'. Gives the position
** behind it; 0 at the end; and the negated position from which to go on after many empty slots.
*/
LUA_API int lua_viewfield (lua_State *L, int idx, int at, View *key, View *value) {
  const Table *t = tableat(L, idx);
  int end = at + MAXEMPTY;
  if (at < 0) return 0;
  for (; at < t->sizearray; at++) {
    const TValue *o = &t->array[at];
    if (!ttisnil(o)) {
      key->type = LUA_TNUMBER;
      key->u.number = cast_num(at + 1);
      view(o, value);
      return at + 1;
    }
    if (at >= end) return -at;
  }
  for (; at - t->sizearray < sizenode(t); at++) {
    const Node *n = gnode(t, at - t->sizearray);
    if (!ttisnil(gval(n))) {
      view(key2tval(n), key);
      view(gval(n), value);
      return at + 1;
    }
    if (at >= end) return -at;
  }
  return 0;
}

/*
** Counts the fields of the table at an index, and says whether their keys are the numbers from 1 to that count (1), or
** one is no number (2). 0 if neither, or if the table is too large to be looked at in one step.
*/
LUA_API int lua_countfields (lua_State *L, int idx, int *count) {
  const Table *t = tableat(L, idx);
  int i, last = 0, elements = 0, fields = 0, named = 0;
  if (t->sizearray > MAXEMPTY || sizenode(t) > MAXEMPTY) return 0;
  for (i = 0; i < t->sizearray; i++) {
    if (ttisnil(&t->array[i])) continue;
    elements++;
    last = i + 1;
  }
  for (i = 0; i < sizenode(t); i++) {
    const Node *n = gnode(t, i);
    if (ttisnil(gval(n))) continue;
    fields++;
    named |= !ttisnumber(gkey(n));
  }
  *count = elements + fields;
  return named ? 2 : (fields == 0 && last == elements);
}

/* Shows an element of the table at an index, past its metatable. */
LUA_API void lua_viewelement (lua_State *L, int idx, int n, View *value) {
  view(luaH_getnum((Table *)tableat(L, idx), n), value);
}

/* Pushes key and value of the field before a position that `lua_viewfield' has given; 0 and nothing if it is gone. */
LUA_API int lua_pushfield (lua_State *L, int idx, int at) {
  const Table *t = tableat(L, idx);
  at--;
  api_check(L, L->top + 2 <= L->ci->top);
  if (at < 0 || at - t->sizearray >= sizenode(t)) return 0;
  if (at < t->sizearray) {
    if (ttisnil(&t->array[at])) return 0;
    setnvalue(L->top, cast_num(at + 1));
    setobj2s(L, L->top + 1, &t->array[at]);
  }
  else {
    const Node *n = gnode(t, at - t->sizearray);
    if (ttisnil(gval(n))) return 0;
    setobj2s(L, L->top, key2tval(n));
    setobj2s(L, L->top + 1, gval(n));
  }
  L->top += 2;
  return 1;
}

/* whether something on the stack is a table that may be changed */
static int isfilled (lua_State *L, StkId t) {
  return t >= L->base && ttistable(t) && !hvalue(t)->readonly;
}

/*
** Pops a value and the key below it into the table below both, past its metatable. 0, and nothing is done, unless both
** lie above those that are kept, the table may be changed and the key be one.
*/
LUA_API int lua_putfield (lua_State *L, int kept) {
  StkId value = L->top - 1, key = value - 1, t = key - 1;
  if (key - L->base < kept || !isfilled(L, t) || ttisnil(key) ||
      (ttisnumber(key) && nvalue(key) != nvalue(key)))
    return 0;
  setobj2t(L, luaH_set(L, hvalue(t), key), value);
  luaC_barriert(L, hvalue(t), value);
  L->top = key;
  return 1;
}

/* The same with an element of the table, whose number has no slot. */
LUA_API int lua_putelement (lua_State *L, int kept, int n) {
  StkId value = L->top - 1, t = value - 1;
  if (value - L->base < kept || !isfilled(L, t))
    return 0;
  setobj2t(L, luaH_setnum(L, hvalue(t), n), value);
  luaC_barriert(L, hvalue(t), value);
  L->top = value;
  return 1;
}

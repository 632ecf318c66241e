/* A field that is there is found without a call: globals, `redis.call', `KEYS[1]'. For the interpreter's loop. */

#ifndef lookup_h
#define lookup_h

#define findfield(h,key,o) { \
  const Node *n_ = gnode(h, lmod(luaS_keyhash(key), sizenode(h))); \
  do { \
    if (ttisstring(gkey(n_)) && rawtsvalue(gkey(n_)) == (key)) { o = gval(n_); break; } \
  } while ((n_ = gnext(n_)) != NULL); }

#define findelement(h,key,o) { \
  int k_; \
  lua_number2int(k_, nvalue(key)); \
  if (cast(unsigned int, k_-1) < cast(unsigned int, (h)->sizearray) && luai_numeq(cast_num(k_), nvalue(key))) \
    o = &(h)->array[k_-1]; }

/* goes on with the next instruction if there is something at `key' */
#define getfast(t,key,val) if (ttistable(t)) { \
  const Table *h_ = hvalue(t); \
  const TValue *o_ = luaO_nilobject; \
  if (ttisstring(key)) findfield(h_, rawtsvalue(key), o_) \
  else if (ttisnumber(key)) findelement(h_, key, o_) \
  if (!ttisnil(o_)) { setobj2s(L, val, o_); continue; } }

#endif

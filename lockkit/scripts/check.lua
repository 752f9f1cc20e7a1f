-- Behind an owner check (*_guard.lua): nothing but the answer that it holds. Returns 1.
return 1

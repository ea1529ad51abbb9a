#include <cstdio>
int main() { std::puts("glia"); }

// The program file: versioned, checksummed, mapped when read (docs/program-format.md). Equal programs give equal bytes.
#pragma once
#include "glia/Program/Program.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace glia {

inline constexpr uint32_t kContainerVersion = 1;

std::vector<std::byte> toBytes(const Program &p);
std::vector<std::byte> canonicalToBytes(const Program &p); // the same for a program that is canonical already
void save(const Program &p, const std::string &path);      // complete or not at all; throws Error FILE-WRITE

// Checks the checksum and the whole structure: afterwards the program may be used without asking. Throws Error
// CONTAINER-MAGIC, -VERSION, -SIZE, -CHECKSUM, -STRUCTURE, TARGET-FILE, ISA-UNKNOWN.
Program load(const std::string &path);
Program loadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr); // without owner: copies
bool looksLikeContainer(std::span<const std::byte> bytes); // starts with the magic number

// The same program with tables in the order of first use and nothing in them twice or unused.
Program canonical(const Program &p);
bool isCanonical(const Program &p);

} // namespace glia

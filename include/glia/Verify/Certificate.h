// Certificates: what the search of the verifier found, in a file. With it a program is proved again without any search, and what the file
// says is believed in nothing (docs/certificates.md).
#pragma once
#include "glia/Verify/Verify.h"

#include <cstddef>
#include <span>
#include <vector>

namespace glia {

// As `verifyRanks`; the certificate is written if the program is proved.
VerifyResult certify(const Program &p, std::vector<std::byte> &certificate, const VerifyOptions &options = {});

// Proves the program with what the certificate says, for each rank if it was written so. Throws Error CERTIFICATE-FORMAT (it is none), CERTIFICATE-OTHER (it is another
// program's, or another target's) or CERTIFICATE-FAILS (it proves nothing of this program).
VerifyResult verifyWith(const Program &p, std::span<const std::byte> certificate, const VerifyOptions &options = {});

} // namespace glia

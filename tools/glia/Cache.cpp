#include "Tool.h"
#include "glia/Support/DiskCache.h"

#include <nlohmann/json.hpp>

namespace glia::tool {

void addCache(Command app, Tool &tool) {
  struct Options {
    bool clear = false, json = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("cache", "Says what is kept on disk of graphs that were compiled before");
  c.flag("--clear", o->clear, "Remove all of it");
  c.flag("--json", o->json, "As JSON");
  c.footer("Example: GLIA_CACHE=off glia compile model.mlir -o model.glia\n"
           "GLIA_CACHE is a folder, or off; else it is `glia` in XDG_CACHE_HOME or in ~/.cache.");
  c.callback([o, &tool] {
    tool.command = [o] {
      const std::optional<DiskCache> cache = DiskCache::ofUser();
      const std::string folder = cache ? cache->path() : "";
      const DiskCache::Contents there = !cache ? DiskCache::Contents() : o->clear ? cache->clear() : cache->contents();
      const char *what = o->clear ? "removed" : "kernels";
      if (o->json)
        write(nlohmann::ordered_json{{"folder", cache ? nlohmann::ordered_json(folder) : nlohmann::ordered_json()},
                                     {what, there.entries},
                                     {"bytes", there.bytes}}
                  .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
              "\n");
      else if (!cache)
        write(std::string("off: nothing is kept\n"));
      else
        write(format("folder   %s\n%-8s %zu, %.1f MB of at most %.0f\n", folder.c_str(), what, there.entries,
                     static_cast<double>(there.bytes) / 1e6, static_cast<double>(DiskCache::kMost) / 1e6));
      return 0;
    };
  });
}

} // namespace glia::tool

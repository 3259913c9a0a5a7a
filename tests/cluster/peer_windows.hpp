// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "detgemm/peers.hpp"

// Windows of devices around another one, with planted faults.

namespace detgemm::cluster {

/// Passes everything on.
class AroundPeerWindow : public PeerWindow {
 public:
  explicit AroundPeerWindow(std::shared_ptr<PeerWindow> inner) : inner_(std::move(inner)) {}
  std::byte* data() const noexcept override { return inner_->data(); }
  std::byte* data_of(int rank) const noexcept override { return inner_->data_of(rank); }
  std::size_t bytes() const noexcept override { return inner_->bytes(); }
  Status mark_all() override { return inner_->mark_all(); }
  Status find_marks() override { return inner_->find_marks(); }
  Status supports(const GemmSpec& spec, std::span<const LeafRange> nodes) const override {
    return inner_->supports(spec, nodes);
  }
  Status join(Stream stream, const GemmSpec& spec, const PeerJoin& join,
              RunInfo* info) const override {
    return inner_->join(stream, spec, join, info);
  }
  std::byte* take_blank_roots(std::size_t bytes) const noexcept override {
    return inner_->take_blank_roots(bytes);
  }
  PeerFailure failure() const noexcept override { return inner_->failure(); }
  void give_up() noexcept override { inner_->give_up(); }
  bool has_whole_words() const noexcept override { return inner_->has_whole_words(); }
  std::string description() const override { return inner_->description(); }

 private:
  std::shared_ptr<PeerWindow> inner_;
};

/// A planted fault: this rank takes its first and its last root for each other.
class MixedUpWindow final : public AroundPeerWindow {
 public:
  using AroundPeerWindow::AroundPeerWindow;
  Status join(Stream stream, const GemmSpec& spec, const PeerJoin& join,
              RunInfo* info) const override {
    std::vector<const void*> roots(join.roots.begin(), join.roots.end());
    if (roots.size() > 1) std::swap(roots.front(), roots.back());
    PeerJoin mixed = join;
    mixed.roots = roots;
    if (join.way == PeerJoin::Way::push && join.nodes.size() > 1) {
      // The roots of the first node are read where nothing is, or an older call's.
      mixed.roots_at += join.root_stride;
    }
    return AroundPeerWindow::join(stream, spec, mixed, info);
  }
  std::byte* take_blank_roots(std::size_t) const noexcept override { return nullptr; }
  std::string description() const override {
    return AroundPeerWindow::description() + ", mixed up";
  }
};

}  // namespace detgemm::cluster

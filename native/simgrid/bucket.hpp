// Token bucket, as used by links of clouds and emulated clusters; it determines how many bytes an idle link transfers
// at once (burst).
#pragma once

#include <algorithm>
#include <cmath>

namespace kiviat::sim {

class Bucket {
 public:
  // The bucket is full initially. A packet passes whole if the balance is not negative, and may make it negative; so
  // the last packet of a message, which may be short, needs no tokens of its own. From `trailer_from_bytes` on another
  // packet follows, which contains none of the message's bytes.
  Bucket(double bytes, double packet_bytes, double trailer_from_bytes, double bytes_per_s)
      : bytes_(bytes),
        packet_bytes_(packet_bytes),
        trailer_from_bytes_(trailer_from_bytes),
        bytes_per_s_(bytes_per_s),
        left_(bytes) {}

  // Returns how many bytes of a message that arrives now pass without waiting.
  double let_pass(double bytes, double now_s) {
    const double passes = would_pass(bytes, now_s);
    left_ = balance(now_s) - bytes;
    last_s_ = now_s;
    return passes;
  }
  double would_pass(double bytes, double now_s) const {
    const double last_packet_bytes =
        bytes >= trailer_from_bytes_ ? 0 : bytes - packet_bytes_ * (std::ceil(bytes / packet_bytes_) - 1);
    return std::clamp(balance(now_s) + last_packet_bytes, 0.0, bytes);
  }

  double bytes_per_s() const { return bytes_per_s_; }

 private:
  double balance(double now_s) const { return std::min(bytes_, left_ + bytes_per_s_ * (now_s - last_s_)); }

  double bytes_, packet_bytes_, trailer_from_bytes_, bytes_per_s_;
  double left_;  // balance in bytes; may be negative
  double last_s_ = 0;
};

}  // namespace kiviat::sim

package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// tagDiskFull is a private tagged field of BrokerHeartbeat: there, with any value, while the broker has no space to append. One
// that does not know it takes no notice, as with every tagged field.
const tagDiskFull = 0x7f01

// SetDiskFull has a heartbeat say that its broker's disk is full.
func SetDiskFull(r *kmsg.BrokerHeartbeatRequest) { r.UnknownTags.Set(tagDiskFull, []byte{1}) }

// DiskFull tells whether a heartbeat says that its broker's disk is full.
func DiskFull(r *kmsg.BrokerHeartbeatRequest) bool {
	full := false
	r.UnknownTags.Each(func(key uint32, _ []byte) { full = full || key == tagDiskFull })
	return full
}

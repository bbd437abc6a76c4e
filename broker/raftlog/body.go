package raftlog

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Identity names whose log it is. ClusterID may be empty until the member has learned it.
type Identity struct {
	ClusterID string
	Node      kafka.NodeID
	Directory kafka.DirectoryID
}

// mark names a log position: an entry, or the last one in a snapshot.
type mark struct{ index, term uint64 }

type hardState struct{ term, vote, commit uint64 }

func (h hardState) proto() *raftpb.HardState {
	return &raftpb.HardState{Term: &h.term, Vote: &h.vote, Commit: &h.commit}
}

type header struct {
	number uint64
	Identity
	hard hardState
	snap mark
}

const formatVersion = 1

func (h header) append(b []byte) []byte {
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, h.number)
	b = binary.AppendUvarint(b, uint64(uint32(h.Node)))
	b = append(b, h.Directory[:]...)
	b = appendString(b, h.ClusterID)
	b = h.hard.append(b)
	return h.snap.append(b)
}

func (h hardState) append(b []byte) []byte {
	b = binary.AppendUvarint(b, h.term)
	b = binary.AppendUvarint(b, h.vote)
	return binary.AppendUvarint(b, h.commit)
}

func (m mark) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.index)
	return binary.AppendUvarint(b, m.term)
}

func appendEntry(b []byte, e *raftpb.Entry) []byte {
	b = mark{e.GetIndex(), e.GetTerm()}.append(b)
	b = append(b, byte(e.GetType()))
	return append(b, e.GetData()...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads a body; the first failure sticks.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s cut short", what)
	}
	d.b = nil
}

func (d *decoder) uvarint(what string) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(what)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n uint64, what string) []byte {
	if n > uint64(len(d.b)) {
		d.fail(what)
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) byte(what string) byte {
	b := d.bytes(1, what)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (d *decoder) mark() mark {
	return mark{index: d.uvarint("index"), term: d.uvarint("term")}
}

func (d *decoder) hardState() hardState {
	return hardState{term: d.uvarint("term"), vote: d.uvarint("vote"), commit: d.uvarint("commit")}
}

func (d *decoder) string(what string) string {
	return string(d.bytes(d.uvarint(what), what))
}

func parseHeader(body []byte) (header, error) {
	d := decoder{b: body}
	if v := d.byte("version"); v != formatVersion && d.err == nil {
		return header{}, fmt.Errorf("format version %d, this program knows %d", v, formatVersion)
	}
	var h header
	h.number = d.uvarint("number")
	h.Node = kafka.NodeID(uint32(d.uvarint("node id")))
	copy(h.Directory[:], d.bytes(16, "directory id"))
	h.ClusterID = d.string("cluster id")
	h.hard = d.hardState()
	h.snap = d.mark()
	return h, d.err
}

// parseEntry copies the data out of the file's bytes.
func parseEntry(body []byte) (*raftpb.Entry, error) {
	d := decoder{b: body}
	m := d.mark()
	kind := raftpb.EntryType(d.byte("entry type"))
	e := &raftpb.Entry{Index: &m.index, Term: &m.term, Type: &kind}
	if len(d.b) > 0 {
		e.Data = append([]byte(nil), d.b...)
	}
	return e, d.err
}

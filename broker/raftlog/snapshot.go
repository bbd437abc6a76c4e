package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A snapshot file:
//
//	magic [8] · index · term · conf state (4 lists of raft ids, auto-leave u8) · length · data · crc32c u32
//
// Numbers are uvarints, the checksum is little-endian and covers everything before it.
const snapshotMagic = "FLQSNAP1"

// MaxSnapshotBytes bounds a snapshot file.
const MaxSnapshotBytes = 512 << 20

func snapshotName(m mark) string { return fmt.Sprintf("snapshot-%016x-%016x.snap", m.index, m.term) }

func encodeSnapshot(m mark, cs *raftpb.ConfState, data []byte) []byte {
	b := make([]byte, 0, len(data)+256)
	b = append(b, snapshotMagic...)
	b = m.append(b)
	for _, ids := range [][]uint64{cs.GetVoters(), cs.GetLearners(), cs.GetVotersOutgoing(), cs.GetLearnersNext()} {
		b = binary.AppendUvarint(b, uint64(len(ids)))
		for _, id := range ids {
			b = binary.AppendUvarint(b, id)
		}
	}
	autoLeave := byte(0)
	if cs.GetAutoLeave() {
		autoLeave = 1
	}
	b = append(b, autoLeave)
	b = binary.AppendUvarint(b, uint64(len(data)))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSnapshot(b []byte) (mark, *raftpb.ConfState, []byte, error) {
	if len(b) < len(snapshotMagic)+4 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return mark{}, nil, nil, fmt.Errorf("no snapshot magic: %w", ErrCorrupt)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return mark{}, nil, nil, fmt.Errorf("checksum does not match: %w", ErrCorrupt)
	}
	d := decoder{b: body[len(snapshotMagic):]}
	m := d.mark()
	var lists [4][]uint64
	for i := range lists {
		n := d.uvarint("members")
		if n > uint64(len(d.b)) {
			d.fail("members")
		}
		for range n {
			lists[i] = append(lists[i], d.uvarint("member"))
			if d.err != nil {
				break
			}
		}
	}
	autoLeave := d.byte("auto-leave") != 0
	data := d.bytes(d.uvarint("length"), "data")
	if d.err != nil {
		return mark{}, nil, nil, fmt.Errorf("%w: %w", d.err, ErrCorrupt)
	}
	cs := &raftpb.ConfState{Voters: lists[0], Learners: lists[1], VotersOutgoing: lists[2], LearnersNext: lists[3], AutoLeave: &autoLeave}
	return m, cs, data, nil
}

// readSnapshot reads and checks the snapshot file of m.
func readSnapshot(fsys vfs.FS, dir string, m mark) (*raftpb.ConfState, []byte, error) {
	name := dir + "/" + snapshotName(m)
	b, err := readFile(fsys, name, MaxSnapshotBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read snapshot: %w", err)
	}
	got, cs, data, err := decodeSnapshot(b)
	if err != nil {
		return nil, nil, fmt.Errorf("read snapshot %s: %w", name, err)
	}
	if got != m {
		return nil, nil, fmt.Errorf("read snapshot %s: it is of index %d, term %d: %w", name, got.index, got.term, ErrCorrupt)
	}
	return cs, data, nil
}

func readFile(fsys vfs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, limit)
}

func readAll(f vfs.File, name string, limit int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	if size > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d: %w", name, size, limit, ErrCorrupt)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); int64(n) < size {
		return nil, fmt.Errorf("read %s: %d of %d bytes: %w", name, n, size, err)
	}
	return b, nil
}

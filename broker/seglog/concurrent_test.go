package seglog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Readers beside everything that a writer does: what they get is always whole batches in order, each as it was written,
// and slices stay as they are.
func TestReadersBesideTheWriter(t *testing.T) {
	for _, c := range []struct {
		name string
		fs   vfs.FS
		dir  string
	}{{"os", vfs.OS(), t.TempDir()}, {"mem", vfs.NewMem(1), "data"}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := compacted()
			cfg.Delete, cfg.RetentionBytes = true, 4000
			files := NewFilePool(3)
			l, _, err := Open(c.fs, c.dir+"/t-0", Options{Config: cfg, Now: now0, TopicID: topic, Files: files})
			must(t, err)
			var wg sync.WaitGroup
			quit := make(chan struct{})
			for reader := range 3 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					rnd := rand.New(rand.NewPCG(uint64(reader), 5))
					for {
						select {
						case <-quit:
							return
						default:
						}
						if err := readSome(l, rnd); err != nil {
							t.Errorf("reader: %v", err)
							return
						}
					}
				}()
			}
			rnd := rand.New(rand.NewPCG(1, 6))
			epoch := kafka.LeaderEpoch(0)
			for i := range 1500 {
				switch op := rnd.IntN(40); {
				case op < 30:
					s := batchSpec{at: l.EndOffset(), epoch: epoch, ts: now0 + kafka.Timestamp(i)}
					for n := range 1 + rnd.IntN(3) {
						s.keys = append(s.keys, fmt.Sprintf("k%d", rnd.IntN(30)))
						s.values = append(s.values, fmt.Sprintf("value %d", int(s.at)+n))
					}
					must(t, l.Append(s.build(t), now0))
				case op < 33:
					must(t, l.Flush())
				case op < 35:
					epoch++
					must(t, l.TruncateTo(max(l.StartOffset(), l.EndOffset()-kafka.Offset(rnd.IntN(20)))))
				case op < 37:
					_, err := l.Retain(now0, l.EndOffset())
					must(t, err)
				case op < 39:
					_, err := l.Compact(now0, l.EndOffset(), CompactBounds{})
					must(t, err)
				default:
					must(t, l.AdvanceStart(min(l.EndOffset(), l.StartOffset()+2)))
				}
			}
			close(quit)
			wg.Wait()
			must(t, l.Close())
			if n := files.Open(); n != 0 {
				t.Errorf("%d files are open after Close", n)
			}
		})
	}
}

func readSome(l *Log, rnd *rand.Rand) error {
	start, end := l.StartOffset(), l.EndOffset()
	from := start + kafka.Offset(rnd.Int64N(int64(max(end-start, 0))+1))
	s, err := l.Read(ReadRequest{From: from, Limit: end, MaxBytes: 100 + rnd.IntN(1000), AtLeastOneBatch: true})
	switch {
	case errors.Is(err, ErrOffsetOutOfRange):
		return nil
	case err != nil:
		return err
	}
	defer s.Release()
	data, err := s.Bytes()
	if err != nil {
		return err
	}
	again, err := s.Bytes()
	if err != nil {
		return err
	}
	if string(data) != string(again) {
		return fmt.Errorf("slice [%d, %d) changed", s.FirstOffset, s.NextOffset)
	}
	next := kafka.Offset(0)
	for len(data) > 0 {
		b, rest, err := record.Next(data)
		if err != nil {
			return fmt.Errorf("slice [%d, %d): %w", s.FirstOffset, s.NextOffset, err)
		}
		if !b.CheckCRC() || b.BaseOffset() < next {
			return fmt.Errorf("slice [%d, %d): bad batch at %d", s.FirstOffset, s.NextOffset, b.BaseOffset())
		}
		it := b.Records(1 << 20)
		for it.Next() {
			if r := it.Record(); string(r.Value) != fmt.Sprintf("value %d", r.Offset) {
				return fmt.Errorf("offset %d holds %q", r.Offset, r.Value)
			}
		}
		if it.Err() != nil {
			return it.Err()
		}
		it.Close()
		next, data = b.NextOffset(), rest
	}
	if rnd.IntN(4) == 0 {
		if _, _, err := l.OffsetForTimestamp(now0+kafka.Timestamp(rnd.IntN(1500)), end); err != nil {
			return err
		}
		if _, _, err := l.MaxTimestamp(end); err != nil {
			return err
		}
		if _, err := l.AbortedTransactions(from, end); err != nil {
			return err
		}
	}
	return nil
}

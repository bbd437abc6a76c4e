package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	rawConnections = 2
	rawInflight    = 5
	rawRecords     = 64   // in a batch
	rawRecordBytes = 1000 // value of a record
	produceVersion = 8    // the last with short headers
	fetchVersion   = 11
	maxReply       = 64 << 20
)

// frame encodes a request as it goes over the wire; its correlation id is at [8:12].
func frame(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 0)
}

// batch is a record batch of rawRecords records.
func batch() []byte {
	var records []byte
	for i := range int32(rawRecords) {
		r := kmsg.Record{OffsetDelta: i, Value: value(rawRecordBytes, uint64(i)+3)}
		body := r.AppendTo(nil)[1:] // without the length, which is one byte while it is 0
		r.Length = int32(len(body))
		records = r.AppendTo(records)
	}
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{Magic: 2, PartitionLeaderEpoch: -1, LastOffsetDelta: rawRecords - 1, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: rawRecords, Records: records}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func produceRequest(topic string, partition int32, acks int16, records []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(produceVersion)
	req.Acks, req.TimeoutMillis = acks, 30_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, records
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return frame(req)
}

func fetchRequest(topic string, partition int32, offset int64) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(fetchVersion)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 500, 1, 8<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, offset, 1<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return frame(req)
}

// rawConn sends frames and reads replies, of one goroutine each.
type rawConn struct {
	net.Conn
	r   *bufio.Reader
	buf []byte
}

func dialRaw(ctx context.Context, addr string) (*rawConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &rawConn{Conn: conn, r: bufio.NewReaderSize(conn, 256<<10)}, nil
}

// reply reads one reply without its correlation id. It is valid until the next call.
func (c *rawConn) reply() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:4])) - 4
	if n < 0 || n > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes", n)
	}
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	_, err := io.ReadFull(c.r, c.buf)
	return c.buf, err
}

// rawProduce sends batches to one broker until their values amount to bytes.
func rawProduce(ctx context.Context, addr, topic string, acks int16, bytes int64) (int64, error) {
	records := batch()
	perConn := int(bytes/rawConnections/(rawRecords*rawRecordBytes)) + 1
	err := onConnections(ctx, addr, func(c *rawConn, n int) error {
		var frames [][]byte
		for p := n; p < benchPartitions; p += rawConnections {
			frames = append(frames, produceRequest(topic, int32(p), acks, records))
		}
		slots := make(chan struct{}, rawInflight)
		done := make(chan error, 1)
		go func() {
			for range perConn {
				if err := produceReply(c); err != nil {
					done <- err
					c.Close() // ends the writer
					return
				}
				<-slots
			}
			done <- nil
		}()
		for i := range perConn {
			slots <- struct{}{}
			if _, err := c.Write(frames[i%len(frames)]); err != nil {
				return errors.Join(err, <-done)
			}
		}
		return <-done
	})
	return int64(perConn) * rawConnections * rawRecords * rawRecordBytes, err
}

func produceReply(c *rawConn) error {
	body, err := c.reply()
	if err != nil {
		return err
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.SetVersion(produceVersion)
	if err := resp.ReadFrom(body); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("produce to %s-%d: error code %d", t.Topic, p.Partition, p.ErrorCode)
			}
		}
	}
	return nil
}

// onConnections runs f on each of the raw connections and waits for all.
func onConnections(ctx context.Context, addr string, f func(c *rawConn, n int) error) error {
	errs := make([]error, rawConnections)
	var wait sync.WaitGroup
	for n := range rawConnections {
		wait.Add(1)
		go func() {
			defer wait.Done()
			c, err := dialRaw(ctx, addr)
			if err != nil {
				errs[n] = err
				return
			}
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			errs[n] = f(c, n)
		}()
	}
	wait.Wait()
	return errors.Join(errs...)
}

// rawFetch reads a topic that rawProduce filled, all partitions to their ends, and gives the bytes of values.
func rawFetch(ctx context.Context, addr, topic string, ends map[int32]int64) (int64, error) {
	var mu sync.Mutex
	var total int64
	err := onConnections(ctx, addr, func(c *rawConn, n int) error {
		next := map[int32]int64{}
		var waiting []int32 // partitions in the order of their next request
		for p := int32(n); p < benchPartitions; p += rawConnections {
			if ends[p] > 0 {
				waiting = append(waiting, p)
			}
		}
		var asked []int32 // in flight, in the order of the replies
		for len(waiting)+len(asked) > 0 {
			for len(asked) < rawInflight && len(waiting) > 0 {
				p := waiting[0]
				waiting = waiting[1:]
				if _, err := c.Write(fetchRequest(topic, p, next[p])); err != nil {
					return err
				}
				asked = append(asked, p)
			}
			p := asked[0]
			asked = asked[1:]
			after, err := fetchReply(c, next[p])
			if err != nil {
				return err
			}
			mu.Lock()
			total += (after - next[p]) * rawRecordBytes
			mu.Unlock()
			next[p] = after
			if after < ends[p] {
				waiting = append(waiting, p)
			}
		}
		return nil
	})
	return total, err
}

// fetchReply reads one reply and gives the offset after its last whole batch.
func fetchReply(c *rawConn, from int64) (int64, error) {
	body, err := c.reply()
	if err != nil {
		return 0, err
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(fetchVersion)
	if err := resp.ReadFrom(body); err != nil {
		return 0, err
	}
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return 0, fmt.Errorf("fetch at %d: error code %d", from, p.ErrorCode)
	}
	after := from
	for b := p.RecordBatches; len(b) >= 61; {
		n := 12 + int(binary.BigEndian.Uint32(b[8:]))
		if n > len(b) {
			break
		}
		after = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:])) + 1
		b = b[n:]
	}
	return after, nil
}

package dev

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits of a probe.
const (
	probeTimeout  = 2 * time.Second
	probePause    = 20 * time.Millisecond
	maxProbeReply = 1 << 20
)

// AwaitAll returns when every broker of the directory answers and knows all of them, and gives the line to print.
func AwaitAll(ctx context.Context, dir string) (string, error) {
	c, err := readCluster(dir)
	if err != nil {
		return "", err
	}
	for id, addr := range c.bootstrap() {
		if err := await(ctx, addr, c.brokers); err != nil {
			return "", fmt.Errorf("wait for broker %d: %w", id, err)
		}
	}
	return "ready: bootstrap=" + strings.Join(c.bootstrap(), ","), nil
}

// AwaitOne returns when one broker answers, whoever else runs.
func AwaitOne(ctx context.Context, dir string, id int) error {
	c, err := readCluster(dir)
	if err != nil {
		return err
	}
	if err := c.has(id); err != nil {
		return err
	}
	return await(ctx, c.bootstrap()[id], 1)
}

// Bootstrap are the client addresses of the cluster in the directory.
func Bootstrap(dir string) ([]string, error) {
	c, err := readCluster(dir)
	if err != nil {
		return nil, describeMissing(dir, err)
	}
	return c.bootstrap(), nil
}

func (c cluster) has(id int) error {
	if id < 0 || id >= c.brokers {
		return fmt.Errorf("no broker %d: the cluster has brokers 0 to %d", id, c.brokers-1)
	}
	return nil
}

// await asks until the broker lists at least n brokers.
func await(ctx context.Context, addr string, n int) error {
	for {
		known, err := probe(ctx, addr)
		if err == nil && known >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return err
			}
			return fmt.Errorf("%s knows %d of %d brokers", addr, known, n)
		case <-time.After(probePause):
		}
	}
}

// probe asks for the metadata of no topic and returns how many brokers the answer lists.
func probe(ctx context.Context, addr string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(8) // the last with the short headers
	req.Topics = []kmsg.MetadataRequestTopic{}
	const correlation = 1
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("fairlead-dev")).AppendRequest(nil, req, correlation)); err != nil {
		return 0, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, err
	}
	size := int32(binary.BigEndian.Uint32(head[:4]))
	if size < 4 || size > maxProbeReply || binary.BigEndian.Uint32(head[4:]) != correlation {
		return 0, fmt.Errorf("%s: the answer to Metadata is not Kafka's", addr)
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return 0, err
	}
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if err := resp.ReadFrom(body); err != nil {
		return 0, err
	}
	return len(resp.Brokers), nil
}

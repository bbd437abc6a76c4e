package dev

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The test binary is also the broker that the tests run: a listener that answers Metadata.
func TestMain(m *testing.M) {
	runtime.LockOSThread()
	if len(os.Args) == 4 && os.Args[1] == "broker" {
		if err := fakeBroker(os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "dev" {
		if err := fakeVerb(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == "run-dev" {
		port, _ := strconv.Atoi(os.Args[3])
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := Run(ctx, os.Args[0], options(os.Args[2], 2, port), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeVerb is the part of the command line that hack/cluster uses.
func fakeVerb(verb string, args []string) error {
	id := -1
	if !strings.HasPrefix(args[0], "-") {
		id, _ = strconv.Atoi(args[0])
		args = args[1:]
	}
	fl := flag.NewFlagSet(verb, flag.ContinueOnError)
	o := options("", 0, 0)
	o.Settings = config.Values{}
	fl.StringVar(&o.Dir, "dir", "", "")
	fl.IntVar(&o.Brokers, "brokers", 0, "")
	fl.IntVar(&o.Port, "port", 0, "")
	timeout := fl.Duration("timeout", 0, "")
	fl.Func("o", "", func(s string) error { k, v, _ := strings.Cut(s, "="); o.Settings[k] = v; return nil })
	if err := fl.Parse(args); err != nil {
		return err
	}
	if verb == "write-config" {
		return Write(o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if id >= 0 {
		return AwaitOne(ctx, o.Dir, id)
	}
	line, err := AwaitAll(ctx, o.Dir)
	fmt.Println(line)
	return err
}

// options are those of a cluster of fake brokers.
func options(dir string, brokers, port int) Options {
	var n byte
	return Options{Dir: dir, Brokers: brokers, Port: port, Format: fakeFormat,
		NewID: func() kafka.UUID { n++; return kafka.UUID{n} }}
}

// fakeFormat begins a data directory, with the voters in the file voters.
func fakeFormat(d Directory) error {
	if err := os.MkdirAll(d.Path, 0o755); err != nil {
		return err
	}
	meta := config.FormatProperties(config.Values{"cluster.id": d.ClusterID, "node.id": strconv.Itoa(int(d.NodeID)), "directory.id": d.DirectoryID.String()})
	if err := os.WriteFile(filepath.Join(d.Path, "voters"), []byte(fmt.Sprint(len(d.Voters))), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.Path, "meta.properties"), []byte(meta), 0o644)
}

func fakeBroker(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	static, b, _, err := config.ParseFile(string(text))
	if err != nil {
		return err
	}
	if static["fake.fails"] == strconv.Itoa(int(b.NodeID)) {
		return fmt.Errorf("open %s: no space left", b.LogDir)
	}
	cluster, err := readCluster(filepath.Dir(filepath.Dir(file)))
	if err != nil {
		return err
	}
	// Before anything answers: who sees it answer may stop it.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(int(b.Network.Listeners[0].Port)))
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn, cluster.brokers)
		}
	}()
	<-stop
	return nil
}

// answer says to every request that there are n brokers.
func answer(conn net.Conn, n int) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		var head [12]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		if _, err := r.Discard(int(binary.BigEndian.Uint32(head[:4])) - 8); err != nil {
			return
		}
		resp := kmsg.NewPtrMetadataResponse()
		resp.SetVersion(8)
		for id := range n {
			rb := kmsg.NewMetadataResponseBroker()
			rb.NodeID = int32(id)
			resp.Brokers = append(resp.Brokers, rb)
		}
		body := resp.AppendTo(nil)
		out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		out = append(append(out, head[8:]...), body...)
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

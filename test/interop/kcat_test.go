package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kcat (librdkafka) sends the lines of a large file with acks=all and each codec, and gets every line back once and in
// the order of sending within each partition.
func TestKcatRoundTrip(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not installed: apt-get install kcat")
	}
	c := cluster(t, nil)
	text, err := writeCorpus(filepath.Join(t.TempDir(), "lines"), os.Getenv("INTEROP_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lines, %.1f MB", len(text.sums), float64(text.size)/1e6)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			topic := "kcat-" + codec
			newTopic(t, c, topic, 6, map[string]string{"min.insync.replicas": "2"})
			bootstrap := strings.Join(c.Bootstrap, ",")
			begin := time.Now()
			send := exec.Command("kcat", "-P", "-b", bootstrap, "-t", topic, "-z", codec, "-X", "acks=all", "-X", "enable.idempotence=true", "-l", text.file)
			if out, err := send.CombinedOutput(); err != nil {
				t.Fatalf("kcat -P: %v: %s", err, out)
			}
			sent := time.Since(begin)
			broken, lines := readBack(t, text, bootstrap, topic)
			for _, b := range broken {
				t.Error(b)
			}
			t.Logf("%d lines sent in %.1f s, read back in %.1f s", lines, sent.Seconds(), (time.Since(begin) - sent).Seconds())
		})
	}
}

func readBack(t *testing.T, text *corpus, bootstrap, topic string) (broken []string, lines int) {
	t.Helper()
	read := exec.Command("kcat", "-C", "-q", "-e", "-b", bootstrap, "-t", topic, "-o", "beginning", "-f", `%p %o %s\n`)
	var stderr bytes.Buffer
	read.Stderr = &stderr
	out, err := read.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Start(); err != nil {
		t.Fatal(err)
	}
	k := newChecker(text)
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 2*maxLine)
	for scanner.Scan() {
		k.line(scanner.Bytes())
	}
	if err := read.Wait(); err != nil || scanner.Err() != nil {
		t.Fatalf("kcat -C: %v, %v: %s", err, scanner.Err(), stderr.String())
	}
	return k.finish(), k.count
}

// A listing by kcat shows every broker and the topic's replicas.
func TestKcatListsMetadata(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not installed: apt-get install kcat")
	}
	c := cluster(t, nil)
	newTopic(t, c, "listed", 2, nil)
	out, err := exec.Command("kcat", "-L", "-b", c.Bootstrap[1], "-t", "listed").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for id, addr := range c.Bootstrap {
		if want := fmt.Sprintf("broker %d at %s", id, addr); !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(string(out), `topic "listed" with 2 partitions`) {
		t.Errorf("the topic is not in\n%s", out)
	}
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// plan is how much each measurement does.
type plan struct {
	produceBytes int64 // values of each throughput measurement; a quarter of it warms up
	smallBytes   int64 // the same for records of 100 bytes
	latencySecs  int
	startRounds  int
	partitions   int // of the measurement of many partitions
	only         string
}

var (
	fullPlan  = plan{produceBytes: 2e9, smallBytes: 400e6, latencySecs: 20, startRounds: 5, partitions: 1000}
	shortPlan = plan{produceBytes: 300e6, smallBytes: 60e6, latencySecs: 6, startRounds: 3, partitions: 1000}
)

// wants tells whether a measurement was asked for.
func (p plan) wants(name string) bool { return strings.Contains(name, p.only) }

func main() {
	fairlead := flag.String("fairlead", "", "control `command` of Fairlead")
	kafka := flag.String("kafka", "", "control `command` of Apache Kafka; without it Fairlead alone is measured")
	short := flag.Bool("short", false, "less data and time: figures are rougher")
	only := flag.String("only", "", "measure only what has this `text` in its name")
	out := flag.String("out", "test/bench/results", "`folder` for report.md and report.json")
	dir := flag.String("cluster-dir", "", "`folder` for the clusters' files (default: the system's temporary one)")
	flag.Parse()
	p := fullPlan
	if *short {
		p = shortPlan
	}
	p.only = *only
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var systems []system
	for _, s := range []system{{"Fairlead", *fairlead}, {"Kafka", *kafka}} {
		if s.command != "" {
			systems = append(systems, s)
		}
	}
	if len(systems) == 0 {
		fmt.Fprintln(os.Stderr, "bench: want -fairlead or -kafka")
		os.Exit(2)
	}
	if *kafka == "" {
		fmt.Fprintln(os.Stderr, "bench: no control command of Apache Kafka: Fairlead is measured alone, without ratios")
	}
	r := newReport(systems)
	err := runAll(ctx, p, systems, *dir, r)
	r.print(os.Stdout)
	if err := errors.Join(err, r.write(*out)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runAll measures clusters of one broker, then of three, each system after the other, so that drift of the machine
// meets both.
func runAll(ctx context.Context, p plan, systems []system, dir string, r *report) error {
	for _, size := range []struct {
		brokers int
		run     func(context.Context, plan, *bench) error
	}{{1, singleBroker}, {3, threeBrokers}} {
		for _, s := range systems {
			if err := ctx.Err(); err != nil {
				return err
			}
			b, err := startBench(s, dir, size.brokers, r)
			if err != nil {
				return err
			}
			err = size.run(ctx, p, b)
			if err != nil {
				err = fmt.Errorf("%s, brokers %d: %w\n%s", s.name, size.brokers, err, b.cluster.LogTails(10))
			}
			if err := errors.Join(err, b.close()); err != nil {
				return err
			}
		}
	}
	return nil
}

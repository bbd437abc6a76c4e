package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// MaxBrokers bounds a development cluster: internal ports begin 1000 after client ports.
const MaxBrokers = 100

// Options describe a cluster of one machine.
type Options struct {
	Dir      string
	Brokers  int
	Port     int           // of broker 0; the following ports are the other brokers'
	Settings config.Values // for all brokers, by Kafka's names
	// Format begins one data directory. NewID makes random ids.
	Format func(Directory) error
	NewID  func() kafka.UUID
	// Ready, if it is there, is called once when all brokers are registered, before the first that dies is looked after. bootstrap are their
	// addresses for clients.
	Ready func(ctx context.Context, bootstrap []string)
}

// Directory is a data directory to begin.
type Directory struct {
	Path        string
	ClusterID   string
	NodeID      kafka.NodeID
	DirectoryID kafka.DirectoryID
	// Voters of the quorum that begins with this directory; none: the broker joins a quorum that exists.
	Voters []Voter
	// Settings are the broker's file.
	Settings config.Values
}

// Voter is a member of a quorum that begins.
type Voter struct {
	NodeID      kafka.NodeID
	DirectoryID kafka.DirectoryID
}

func brokerDir(dir string, id int) string { return filepath.Join(dir, "broker-"+strconv.Itoa(id)) }

// DataDir is the folder with the topic-partition folders of a broker.
func DataDir(dir string, id int) string { return filepath.Join(brokerDir(dir, id), "data") }

// ConfigFile is the settings file of a broker.
func ConfigFile(dir string, id int) string {
	return filepath.Join(brokerDir(dir, id), "broker.properties")
}

func logFile(dir string, id int) string     { return filepath.Join(brokerDir(dir, id), "log") }
func pidFile(dir string, id int) string     { return filepath.Join(brokerDir(dir, id), "pid") }
func stoppedFile(dir string, id int) string { return filepath.Join(brokerDir(dir, id), "stopped") }

// Write lays the directory out: settings files anew, data directories where they are missing.
func Write(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := readCluster(o.Dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		c = cluster{id: o.NewID().String()}
	case err != nil:
		return err
	case o.Brokers < c.brokers:
		return fmt.Errorf("%s holds a cluster of %d brokers, not %d: remove the directory or start all of them", o.Dir, c.brokers, o.Brokers)
	}
	dirs, err := missing(o, c, isNew)
	if err != nil {
		return err
	}
	for id := range o.Brokers {
		if err := os.MkdirAll(brokerDir(o.Dir, id), 0o755); err != nil {
			return fmt.Errorf("make the broker's directory: %w", err)
		}
		text := config.FormatProperties(o.settings(id))
		if b, err := config.ParseProperties(text); err == nil {
			if _, _, err := config.ParseBroker(b); err != nil {
				return err
			}
		}
		if err := os.WriteFile(ConfigFile(o.Dir, id), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
		if err := os.Remove(stoppedFile(o.Dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, d := range dirs {
		if err := o.Format(d); err != nil {
			return err
		}
	}
	return cluster{id: c.id, brokers: o.Brokers, port: o.Port}.write(o.Dir)
}

func (o Options) check() error {
	switch {
	case o.Brokers < 1 || o.Brokers > MaxBrokers:
		return fmt.Errorf("%d brokers: want 1 to %d", o.Brokers, MaxBrokers)
	case o.Port < 1 || o.Port+1000+o.Brokers > 65536:
		return fmt.Errorf("port %d: want 1 to %d, for internal listeners use the ports from %d", o.Port, 65536-1000-o.Brokers, o.Port+1000)
	}
	return nil
}

// missing lists the data directories to begin. In a new cluster that is all of them: data that is there already is
// another cluster's, or was left by a layout that was broken off.
func missing(o Options, c cluster, isNew bool) ([]Directory, error) {
	var dirs []Directory
	var voters []Voter
	for id := range o.Brokers {
		path := DataDir(o.Dir, id)
		meta, err := readProperties(filepath.Join(path, "meta.properties"))
		switch {
		case err == nil && isNew:
			return nil, fmt.Errorf("%s holds data of cluster %s, but %s is not that cluster's directory", path, meta["cluster.id"], o.Dir)
		case err == nil && meta["cluster.id"] != c.id:
			return nil, fmt.Errorf("%s holds data of cluster %s, but %s is of cluster %s", path, meta["cluster.id"], o.Dir, c.id)
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		d := Directory{Path: path, ClusterID: c.id, NodeID: kafka.NodeID(id), DirectoryID: kafka.DirectoryID(o.NewID()), Settings: o.settings(id)}
		dirs = append(dirs, d)
		voters = append(voters, Voter{d.NodeID, d.DirectoryID})
	}
	if isNew {
		for i := range dirs[:voterCount(o.Brokers)] {
			dirs[i].Voters = voters[:voterCount(o.Brokers)]
		}
	}
	return dirs, nil
}

// voterCount is how many of n brokers vote: an odd number of at most five.
func voterCount(n int) int {
	switch {
	case n < 3:
		return 1
	case n < 5:
		return 3
	}
	return 5
}

// settings are the file of one broker; the user's go before ours.
func (o Options) settings(id int) config.Values {
	host := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
	var voters []string
	for v := range voterCount(o.Brokers) {
		voters = append(voters, strconv.Itoa(v)+"@"+host(o.Port+1000+v))
	}
	v := config.Values{
		"node.id":                   strconv.Itoa(id),
		"listeners":                 "PLAINTEXT://" + host(o.Port+id) + ",CONTROLLER://" + host(o.Port+1000+id),
		"controller.listener.names": "CONTROLLER",
		"controller.quorum.voters":  strings.Join(voters, ","),
		"log.dirs":                  DataDir(o.Dir, id),

		"offsets.topic.replication.factor": strconv.Itoa(min(o.Brokers, 3)),
		"group.initial.rebalance.delay.ms": "0",
	}
	for _, name := range o.Settings.Names() {
		v[name] = o.Settings[name]
	}
	return v
}

// cluster is cluster.properties.
type cluster struct {
	id            string
	brokers, port int
}

func readCluster(dir string) (cluster, error) {
	name := filepath.Join(dir, "cluster.properties")
	v, err := readProperties(name)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{id: v["cluster.id"]}
	var errBrokers, errPort error
	c.brokers, errBrokers = strconv.Atoi(v["brokers"])
	c.port, errPort = strconv.Atoi(v["port"])
	if c.id == "" || errBrokers != nil || errPort != nil {
		return c, fmt.Errorf("read %s: want cluster.id, brokers and port", name)
	}
	return c, nil
}

func (c cluster) write(dir string) error {
	name := filepath.Join(dir, "cluster.properties")
	text := config.FormatProperties(config.Values{"cluster.id": c.id, "brokers": strconv.Itoa(c.brokers), "port": strconv.Itoa(c.port)})
	if err := os.WriteFile(name+".tmp", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// bootstrap are the client addresses of all brokers.
func (c cluster) bootstrap() []string {
	var addrs []string
	for id := range c.brokers {
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(c.port+id))
	}
	return addrs
}

func readProperties(name string) (config.Values, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	v, err := config.ParseProperties(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// Brokers is how many brokers the cluster in the directory has; fs.ErrNotExist when there is none.
func Brokers(dir string) (int, error) {
	c, err := readCluster(dir)
	return c.brokers, err
}

package pod

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/server"
)

// cluster is cluster.properties.
type cluster struct {
	id     string
	voters []quorum.Voter // of a quorum that is being founded
}

func readCluster(path string) (cluster, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return cluster{}, fmt.Errorf("read cluster: %w", err)
	}
	c, err := parseCluster(string(text))
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseCluster takes no notice of names that it does not know: a later release of the operator may write them.
func parseCluster(text string) (cluster, error) {
	v, err := config.ParseProperties(text)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{id: v["cluster.id"]}
	if c.id == "" {
		return c, errors.New("no cluster.id")
	}
	if c.voters, err = ParseVoters(v["initial.voters"]); err != nil {
		return c, fmt.Errorf("initial.voters: %w", err)
	}
	return c, nil
}

// ParseVoters reads BROKER@DIRECTORY,...; an empty text is nobody.
func ParseVoters(text string) ([]quorum.Voter, error) {
	if text == "" {
		return nil, nil
	}
	var voters []quorum.Voter
	for _, one := range strings.Split(text, ",") {
		id, dir, _ := strings.Cut(strings.TrimSpace(one), "@")
		node, err := strconv.ParseInt(id, 10, 32)
		if err != nil || node < 0 {
			return nil, fmt.Errorf("%q: want BROKER@DIRECTORY", one)
		}
		u, err := kafka.ParseUUID(dir)
		if err != nil {
			return nil, fmt.Errorf("directory id of voter %d: %w", node, err)
		}
		voters = append(voters, quorum.Voter{Node: kafka.NodeID(node), Directory: kafka.DirectoryID(u)})
	}
	return voters, nil
}

// formatOf is how a directory of this broker without identity begins.
func (c cluster) formatOf(b config.Broker, static config.Values) server.FormatOptions {
	o := server.FormatOptions{ClusterID: c.id, Settings: static}
	for _, v := range c.voters {
		if v.Node == b.NodeID {
			o.Directory, o.Voters = v.Directory, c.voters
		}
	}
	return o
}

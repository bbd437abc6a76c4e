package desired

import (
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/config"
)

// Paths in the container.
const (
	configDir  = "/etc/fairlead"
	podInfoDir = "/etc/podinfo"
	rackFile   = "rack"
	dataDir    = "/data"
)

// internalListener is between brokers. No listener of a Cluster can have the name.
const internalListener = "CONTROLLER"

// fullReplication is how many replicas a partition has by default when there are brokers enough.
const fullReplication = 3

// BrokerSettings are the brokers' settings, the same for all: the user's, defaults that depend on the number of brokers, and what only the
// operator knows. References in them are resolved by each broker.
func (c Cluster) BrokerSettings() config.Values {
	v := defaults(c.Quorum.Brokers)
	for name, value := range c.Settings {
		v[name] = value
	}
	if first := c.Quorum.MinInSyncReplicas; first != "" && !c.Quorum.Formed {
		v[MinISR] = first
	}
	for name, value := range c.ownSettings() {
		v[name] = value
	}
	return v
}

// MinISR is the setting that founders write into the first state of the metadata.
const MinISR = "min.insync.replicas"

// defaults are for a cluster that was founded with n brokers. The table's own defaults are for one broker.
func defaults(n int32) config.Values {
	inSync := "1"
	if n >= fullReplication {
		inSync = "2"
	}
	replicas := strconv.Itoa(int(min(n, fullReplication)))
	return config.Values{
		"default.replication.factor":       replicas,
		"offsets.topic.replication.factor": replicas,
		MinISR:                             inSync,
	}
}

// ownSettings are those that a user cannot have: spec.config refuses their names.
func (c Cluster) ownSettings() config.Values {
	host := Host(c.Name, c.Namespace, "${env:POD_NAME}")
	var listen, advertise, protocols, voters []string
	add := func(name string, port int32) {
		listen = append(listen, name+"://:"+strconv.Itoa(int(port)))
		advertise = append(advertise, name+"://"+hostPort(host, port))
		protocols = append(protocols, name+":PLAINTEXT")
	}
	for _, l := range c.listeners() {
		add(strings.ToUpper(l.Name), l.Port)
	}
	add(internalListener, InternalPort)
	for _, f := range c.Quorum.Voters {
		voters = append(voters, strconv.Itoa(int(f.ID))+"@"+hostPort(Host(c.Name, c.Namespace, Pod(c.Name, f.ID)), InternalPort))
	}
	v := config.Values{
		"node.id":                        "${env:NODE_ID}",
		"log.dirs":                       dataDir,
		"listeners":                      strings.Join(listen, ","),
		"advertised.listeners":           strings.Join(advertise, ","),
		"listener.security.protocol.map": strings.Join(protocols, ","),
		"controller.listener.names":      internalListener,
		"controller.quorum.voters":       strings.Join(voters, ","),
		"fairlead.admin.address":         ":" + strconv.Itoa(AdminPort),
	}
	if c.Spec.Rack != nil {
		v["broker.rack"] = "${file:" + podInfoDir + "/" + rackFile + "}"
	}
	return v
}

// listeners are the Cluster's, or the one that the API server would have put there.
func (c Cluster) listeners() []v1alpha1.Listener {
	if len(c.Spec.Listeners) == 0 {
		return []v1alpha1.Listener{{Name: "plain", Port: 9092, Type: v1alpha1.InternalListener}}
	}
	return c.Spec.Listeners
}

// hostPort has a host name, or a reference to one, never an IPv6 address.
func hostPort(host string, port int32) string { return host + ":" + strconv.Itoa(int(port)) }

// UserSettings are the settings in a broker's file that are not the operator's own.
func UserSettings(file config.Values) config.Values {
	own := Cluster{Cluster: &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Rack: &v1alpha1.Rack{}}}}.ownSettings()
	v := config.Values{}
	for name, value := range file {
		if _, taken := own[name]; !taken {
			v[name] = value
		}
	}
	return v
}

// Live tells whether running brokers take a new value of the setting. Secrets are not among those: what they are now cannot be read back.
func Live(name string) bool {
	d := config.BrokerDef(name)
	return d != nil && d.Meaning == config.Served && d.Dynamic() == config.ClusterWide && !d.Sensitive()
}

// LiveValues are the brokers' settings that running brokers take.
func (c Cluster) LiveValues() config.Values {
	v := config.Values{}
	for name, value := range c.BrokerSettings() {
		if Live(name) {
			v[name] = value
		}
	}
	return v
}

// restartValues are the settings that a broker reads when it starts and that have an effect.
func (c Cluster) restartValues() config.Values {
	v := config.Values{}
	for name, value := range c.BrokerSettings() {
		if d := config.BrokerDef(name); d != nil && d.Meaning == config.Served && !Live(name) {
			v[name] = value
		}
	}
	return v
}

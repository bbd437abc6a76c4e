package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/broker/config"
)

// Files in the ConfigMap.
const (
	BrokerFile  = "broker.properties"
	clusterFile = "cluster.properties"
)

// ConfigMap has the brokers' files. It changes without a restart of brokers: with a setting that is taken live, so that a broker that restarts
// has it, and when the quorum was formed, so that an emptied volume is not taken for a founder's.
func (c Cluster) ConfigMap() *corev1.ConfigMap {
	identity := config.Values{"cluster.id": c.Quorum.ClusterID}
	if !c.Quorum.Formed {
		var founders []string
		for _, v := range c.Quorum.Voters {
			founders = append(founders, strconv.Itoa(int(v.ID))+"@"+v.DirectoryID)
		}
		identity["initial.voters"] = strings.Join(founders, ",")
	}
	m := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: c.meta(ConfigMapName(c.Name)),
		Data: map[string]string{
			BrokerFile:  c.header() + config.FormatProperties(c.BrokerSettings()),
			clusterFile: c.header() + config.FormatProperties(identity),
		},
	}
	m.Annotations = map[string]string{LiveSettingsAnnotation: strings.Join(c.LiveSettings, ",")}
	return sealed(m)
}

func (c Cluster) header() string {
	return "# Written by " + FieldOwner + " from Cluster " + c.Name + ": changes here are undone.\n"
}

// FileSettings are the settings in a ConfigMap's file for brokers.
func FileSettings(m *corev1.ConfigMap) (config.Values, error) {
	return config.ParseProperties(m.Data[BrokerFile])
}

// LiveSettingNames are those that a ConfigMap says the running brokers may have.
func LiveSettingNames(m *corev1.ConfigMap) []string {
	text := m.Annotations[LiveSettingsAnnotation]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

package metactl

import "github.com/fairlead-io/fairlead/broker/metadata"

// Genesis is the snapshot that a new quorum begins with: the cluster's name and settings of all brokers. The founders give
// min.insync.replicas here when their file has it, since it counts from the image alone: see metadata.Image.MinISR.
func Genesis(clusterID string, defaults ...metadata.Setting) []byte {
	records := []metadata.Record{&metadata.ClusterRecord{ClusterID: clusterID}}
	for _, s := range defaults {
		records = append(records, &metadata.ConfigRecord{Resource: metadata.DefaultBrokerConfig, Name: s.Name, Value: s.Value})
	}
	return metadata.EncodeRecords(nil, records)
}

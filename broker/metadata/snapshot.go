package metadata

import "github.com/fairlead-io/fairlead/broker/kafka"

// Records is the snapshot of the image: the records that make the same image of an empty one, in a fixed order, so that
// equal images give equal bytes. Applied at the image's Version they give an image with equal Records.
func (i *Image) Records() []Record {
	records := make([]Record, 0, i.partitions+i.topics.Len()+i.brokers.Len()+8)
	if i.clusterID != "" {
		records = append(records, &ClusterRecord{i.clusterID})
	}
	for _, f := range i.features {
		records = append(records, &FeatureRecord{f.Name, f.Level})
	}
	for b := range i.Brokers() {
		records = append(records, &RegisterBroker{*b})
	}
	records = append(records, &BrokerEpochRecord{i.nextBrokerEpoch})
	for t := range i.Topics() {
		records = append(records, &TopicRecord{t.ID, t.Name})
		for n, p := range t.Partitions() {
			records = append(records, &PartitionRecord{t.ID, n, *p})
		}
	}
	i.configs.Scan(func(key string, settings Settings) bool {
		for _, s := range settings {
			records = append(records, &ConfigRecord{Resource: resourceOfKey(key), Name: s.Name, Value: s.Value})
		}
		return true
	})
	return append(records, &ProducerIDsRecord{Next: i.nextProducerID, BrokerID: kafka.NoNode, BrokerEpoch: kafka.NoBrokerEpoch})
}

// FromRecords is the image that a snapshot of a version describes.
func FromRecords(version uint64, records []Record) *Image {
	return new(Image).With(version, records)
}

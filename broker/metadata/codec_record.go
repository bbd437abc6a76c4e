package metadata

// The bodies of the records, version 0 of each.

func (r *ClusterRecord) code(c *coder) { c.string(&r.ClusterID) }

func (r *FeatureRecord) code(c *coder) {
	c.string(&r.Name)
	integer(c, &r.Level)
}

func (r *RegisterBroker) code(c *coder) {
	b := &r.Broker
	integer(c, &b.ID)
	integer(c, &b.Epoch)
	c.uuid((*[16]byte)(&b.Directory))
	c.uuid((*[16]byte)(&b.Incarnation))
	c.string(&b.Rack)
	list(c, &b.Endpoints, func(e *Endpoint) {
		c.string(&e.Listener)
		c.string(&e.Host)
		port := int32(e.Port)
		integer(c, &port)
		if c.decoding { // images share what is encoded
			e.Port = uint16(port)
		}
		integer(c, &e.Protocol)
	})
	list(c, &b.Features, func(f *FeatureRange) {
		c.string(&f.Name)
		integer(c, &f.Min)
		integer(c, &f.Max)
	})
	c.uint(&b.RegisteredAt)
	c.bool(&b.Fenced)
	c.bool(&b.ControlledShutdown)
	c.bool(&b.DiskFull)
}

func (r *BrokerChange) code(c *coder) {
	integer(c, &r.ID)
	integer(c, &r.Epoch)
	c.bool(&r.Fenced)
	c.bool(&r.ControlledShutdown)
	c.bool(&r.DiskFull)
}

func (r *UnregisterBroker) code(c *coder) {
	integer(c, &r.ID)
	integer(c, &r.Epoch)
}

func (r *TopicRecord) code(c *coder) {
	c.uuid((*[16]byte)(&r.ID))
	c.string(&r.Name)
}

func (r *RemoveTopic) code(c *coder) { c.uuid((*[16]byte)(&r.ID)) }

func (r *PartitionRecord) code(c *coder) {
	c.uuid((*[16]byte)(&r.TopicID))
	integer(c, &r.Number)
	p := &r.Partition
	c.nodes(&p.Replicas)
	c.nodes(&p.ISR)
	c.nodes(&p.ELR)
	c.nodes(&p.LastKnownELR)
	c.nodes(&p.Adding)
	c.nodes(&p.Removing)
	integer(c, &p.Leader)
	integer(c, &p.LeaderEpoch)
	integer(c, &p.Epoch)
	integer(c, &p.Recovery)
}

func (r *PartitionChange) code(c *coder) {
	c.uuid((*[16]byte)(&r.TopicID))
	integer(c, &r.Number)
	c.byte((*byte)(&r.Fields))
	if r.Fields&SetLeader != 0 {
		integer(c, &r.Leader)
	}
	if r.Fields&SetRecovery != 0 {
		integer(c, &r.Recovery)
	}
	for _, l := range r.lists() {
		if r.Fields&l.field != 0 {
			c.nodes(l.from)
		}
	}
}

func (r *ConfigRecord) code(c *coder) {
	integer(c, &r.Resource.Type)
	c.string(&r.Resource.Name)
	c.string(&r.Name)
	c.bool(&r.Remove)
	if !r.Remove {
		c.string(&r.Value)
	}
}

func (r *ProducerIDsRecord) code(c *coder) {
	integer(c, &r.Next)
	integer(c, &r.BrokerID)
	integer(c, &r.BrokerEpoch)
}

func (r *BrokerEpochRecord) code(c *coder) { integer(c, &r.Next) }

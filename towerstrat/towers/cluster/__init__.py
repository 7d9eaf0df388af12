"""Which machines and devices a program runs on: cluster resolvers, topologies, device assignments."""

"""Light in a straight waveguide; a picture of the field every 20 units of time."""
import meep

sim = meep.Simulation(
    cell_size=meep.Vector3(16, 8, 0),
    boundary_layers=[meep.PML(1.0)],
    geometry=[meep.Block(meep.Vector3(meep.inf, 1, meep.inf), center=meep.Vector3(), material=meep.Medium(epsilon=12))],
    sources=[meep.Source(meep.ContinuousSource(frequency=0.15), component=meep.Ez, center=meep.Vector3(-7, 0))],
    resolution=20,
)
sim.run(meep.at_every(20, meep.output_efield_z), until=120)

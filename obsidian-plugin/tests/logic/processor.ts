/** Milliseconds of the processor that some work takes: other programs on the machine do not count. */
export function processorTime(work: () => void): number {
	const began = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(began);
	return (user + system) / 1000;
}

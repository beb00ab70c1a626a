/** "20 seconds"; from a minute on in minutes, rounded up: "15 minutes". Short: "20 sec", "15 min". */
export function durationOf(seconds: number, unitDisplay: 'long' | 'short'): string {
  const [value, unit] = seconds < 60 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute']
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay }).format(value)
}

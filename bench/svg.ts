/** Bar and line charts as SVG, for light and dark colour schemes. */

export interface BarChart {
  readonly title: string
  readonly groups: readonly {
    readonly label: string
    readonly bars: readonly { readonly name: string; readonly value: number }[]
  }[]
}

export interface LineChart {
  readonly title: string
  readonly xLabel: string
  readonly xScale: 'linear' | 'log'
  readonly lines: readonly {
    readonly name: string
    readonly points: readonly (readonly [number, number])[]
  }[]
}

const WIDTH = 760
const HEIGHT = 320
const PLOT = { left: 56, right: WIDTH - 16, top: 64, bottom: HEIGHT - 40 }
const COLOURS = ['#8a8f98', '#2f7ed8', '#d9822b', '#a0569c', '#3d9970', '#c0392b']

/** A grouped bar chart. Bars have the order in which their names first appear. */
export function barChart({ title, groups }: BarChart): string {
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))]
  const top = niceCeiling(Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value))))
  const y = (value: number) => PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top)
  const groupWidth = (PLOT.right - PLOT.left) / groups.length
  const barWidth = (groupWidth * 0.84) / names.length
  const drawn = groups.flatMap(({ label, bars }, at) => {
    const left = PLOT.left + at * groupWidth + groupWidth * 0.08
    const rects = bars.flatMap(({ name, value }) => {
      const n = names.indexOf(name)
      const x = left + n * barWidth
      const middle = x + barWidth / 2
      return [
        `<rect x="${x.toFixed(1)}" y="${y(value).toFixed(1)}" width="${(barWidth - 2).toFixed(1)}" height="${(PLOT.bottom - y(value)).toFixed(1)}" fill="${colour(n)}"/>`,
        text(middle, y(value) - 4, short(value), 'middle', 'small'),
      ]
    })
    return [...rects, text(left + groupWidth * 0.42, PLOT.bottom + 18, label, 'middle', 'small')]
  })
  return document(title, [...grid(top, y), ...drawn, ...legend(names)])
}

/** A line chart. The value axis begins at zero. */
export function lineChart({ title, xLabel, xScale, lines }: LineChart): string {
  const points = lines.flatMap((line) => line.points)
  const top = niceCeiling(Math.max(...points.map(([, value]) => value)))
  const scaled = (x: number) => (xScale === 'log' ? Math.log10(Math.max(x, 1)) : x)
  const xs = [...new Set(points.map(([x]) => x))].sort((one, other) => one - other)
  const [first, last] = [scaled(xs[0] ?? 0), scaled(xs.at(-1) ?? 1)]
  const x = (value: number) =>
    PLOT.left + 24 + ((scaled(value) - first) / (last - first || 1)) * (PLOT.right - PLOT.left - 48)
  const y = (value: number) => PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top)
  const ticks = xs.length <= 8 ? xs : [xs[0] ?? 0, xs[xs.length >> 1] ?? 0, xs.at(-1) ?? 0].map(Math.round)
  const drawn = lines.flatMap((line, n) => {
    const at = line.points.map(([px, py]) => [x(px).toFixed(1), y(py).toFixed(1)])
    const dots = at.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour(n)}"/>`)
    return [
      `<polyline points="${at.join(' ')}" fill="none" stroke="${colour(n)}" stroke-width="2"/>`,
      ...(line.points.length > 20 ? [] : dots),
    ]
  })
  return document(title, [
    ...grid(top, y),
    ...ticks.map((tick) => text(x(tick), PLOT.bottom + 16, tick.toLocaleString('en'), 'middle', 'small')),
    text((PLOT.left + PLOT.right) / 2, HEIGHT - 8, xLabel, 'middle', 'small'),
    ...drawn,
    ...legend(lines.map(({ name }) => name)),
  ])
}

function document(title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeXml(title)}">
<style>
.paper { fill: #ffffff } text { fill: #1f2328; font: 12px system-ui, sans-serif } .small { font-size: 10px } .title { font-weight: 600; font-size: 14px } .rule { stroke: #d0d7de }
@media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } text { fill: #e6edf3 } .rule { stroke: #30363d } }
</style>
<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="6"/>
${text(16, 24, title, 'start', 'title')}
${parts.join('\n')}
</svg>
`
}

function grid(top: number, y: (value: number) => number): string[] {
  return [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<line class="rule" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(top * share).toFixed(1)}" y2="${y(top * share).toFixed(1)}"/>`,
    text(PLOT.left - 6, y(top * share) + 4, short(top * share), 'end', 'small'),
  ])
}

function legend(names: readonly string[]): string[] {
  let x = 16
  return names.flatMap((name, n) => {
    const at = x
    x += 28 + name.length * 6.4
    return [
      `<rect x="${at}" y="36" width="10" height="10" fill="${colour(n)}"/>`,
      text(at + 15, 45, name, 'start'),
    ]
  })
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', style = ''): string {
  const classAttribute = style === '' ? '' : ` class="${style}"`
  return `<text${classAttribute} x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escapeXml(content)}</text>`
}

const colour = (n: number) => COLOURS[n % COLOURS.length] ?? '#888888'
const escapeXml = (content: string) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
const short = (value: number) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2))))

/** Rounds up to 1, 2, 4, 5 or 8 times a power of ten. */
function niceCeiling(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 2, 4, 5, 8, 10].find((step) => step * power >= value) ?? 10)
}

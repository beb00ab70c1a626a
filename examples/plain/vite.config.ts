import { defineConfig } from 'vite'
import { gatehouseSandbox } from './sandbox.ts'

const port = Number(process.env.PORT ?? 5173)
/** Your own Gatehouse. Without one, the development server runs it with a sandbox. */
const gatehouseUrl = process.env.GATEHOUSE_URL

/** Your server must send this policy too. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The paths of Gatehouse: its API, and the one that leads to other applications. */
const PATHS = ['/api', '/signin']

export default defineConfig({
  plugins: gatehouseUrl ? [] : [gatehouseSandbox(`http://localhost:${port}`)],
  server: {
    port,
    strictPort: true,
    headers: { 'Content-Security-Policy': POLICY },
    ...(gatehouseUrl && {
      proxy: Object.fromEntries(PATHS.map((path) => [path, { target: gatehouseUrl, xfwd: true }])),
    }),
  },
})

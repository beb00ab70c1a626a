import { defineConfig } from 'vite'
import { gatehouseSandbox } from './sandbox.ts'

const port = Number(process.env.PORT ?? 5173)

/** Your server must send this policy too. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

export default defineConfig({
  // For your own Gatehouse, remove this line, and add to `server`: proxy: { '/api': 'http://localhost:8080' }
  plugins: [gatehouseSandbox(`http://localhost:${port}`)],
  server: { port, strictPort: true, headers: { 'Content-Security-Policy': POLICY } },
})

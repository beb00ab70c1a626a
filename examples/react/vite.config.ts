import { randomBytes } from 'node:crypto'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { gatehouseSandbox } from './sandbox.ts'

const port = Number(process.env.PORT ?? 5173)
/** Your own Gatehouse. Without one, the development server runs it with a sandbox. */
const gatehouseUrl = process.env.GATEHOUSE_URL

/** Your server must send this policy too, without the nonce: only the development server has an inline script. */
const nonce = randomBytes(16).toString('base64')
const POLICY = `default-src 'none'; script-src 'self' 'nonce-${nonce}'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

export default defineConfig(({ command }) => ({
  plugins: [react(), !gatehouseUrl && gatehouseSandbox(`http://localhost:${port}`)],
  server: {
    port,
    strictPort: true,
    headers: { 'Content-Security-Policy': POLICY },
    ...(gatehouseUrl && { proxy: { '/api': { target: gatehouseUrl, xfwd: true } } }),
  },
  ...(command === 'serve' && { html: { cspNonce: nonce } }),
}))

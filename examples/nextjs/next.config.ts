import type { NextConfig } from 'next'

const { GATEHOUSE_URL = 'http://127.0.0.1:8080' } = process.env

/** What the portal's proxy does in production: these paths are Gatehouse's. */
const config: NextConfig = {
  rewrites: async () =>
    ['/api/:path*', '/signin'].map((source) => ({ source, destination: GATEHOUSE_URL + source })),
}

export default config

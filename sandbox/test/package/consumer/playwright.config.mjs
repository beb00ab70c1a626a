import { defineConfig } from '@playwright/test'

const url = process.env.PORTAL_URL ?? ''

export default defineConfig({
  testMatch: '*.spec.ts',
  workers: 1,
  reporter: 'line',
  webServer: { command: `node serve-portal.mjs ${new URL(url).port}`, url },
  use: {
    launchOptions: {
      executablePath: process.env.CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu', '--disable-features=WebUIOmniboxAimPopup,WebUIOmniboxPopup'],
    },
  },
})

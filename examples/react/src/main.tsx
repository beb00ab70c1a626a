import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { follow, start } from './entry.ts'
import { SLOTS } from './slots.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <App {...SLOTS} />
  </StrictMode>,
)
follow()
addEventListener('hashchange', () => void start()) // a link of an email, opened in this tab
await start()

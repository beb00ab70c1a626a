import './identity-engine.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { startSandboxUpstream } from '../../support/sandbox-upstream.ts'

const files = readdirSync(import.meta.dirname).filter((name) => /(?<!pipeline)\.test\.ts$/.test(name))

test('the sandbox of a file in this folder is an Identity Engine org', async () => {
  const { sandbox, close } = await startSandboxUpstream()
  expect(sandbox.settings.pipeline).toBe('idx')
  await close()
})

test.each(files)('%s runs the journey of its name on Identity Engine', (name) => {
  expect(readFileSync(`${import.meta.dirname}/${name}`, 'utf8')).toBe(
    `import './identity-engine.ts'\nimport '../${name}'\n`,
  )
})

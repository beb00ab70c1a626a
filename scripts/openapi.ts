import { writeFileSync } from 'node:fs'
import { openApiDocument } from '../src/openapi.ts'

/** `npm run openapi`: writes docs/openapi.json anew from the schemas that the routes use. */
writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`)
console.log('docs/openapi.json is written.')

import { createGatehouse } from 'gatehouse-client'
import { chosenLanguage } from './language/language.ts'

/** One for the page: it knows the open session. Gatehouse is at the page's own origin. */
export const gatehouse = createGatehouse(chosenLanguage ? { language: chosenLanguage } : {})

import { type Language, language, switchTo, texts } from '../language/language.ts'

const NAMES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' }

export function LanguageSwitch() {
  return (
    <nav aria-label={texts.language} className="languages">
      {(Object.keys(NAMES) as Language[]).map((name) => (
        <button
          key={name}
          type="button"
          lang={name}
          aria-pressed={name === language}
          onClick={() => switchTo(name)}
        >
          {NAMES[name]}
        </button>
      ))}
    </nav>
  )
}

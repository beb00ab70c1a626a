import { language, languages, switchTo, texts } from '../language/language.ts'

export function LanguageSwitch() {
  return (
    <nav aria-label={texts.language} className="languages">
      {languages.map(([tag, name]) => (
        <button
          key={tag}
          type="button"
          lang={tag}
          aria-pressed={tag === language}
          onClick={() => switchTo(tag)}
        >
          {name}
        </button>
      ))}
    </nav>
  )
}

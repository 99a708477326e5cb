"""The words of verdicts, in the languages in which judges sometimes answer."""

from __future__ import annotations

# The languages, in order: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
# Turkish, Russian, Chinese, Japanese, Korean.
TRUE = frozenset(
    "true yes correct supported wahr ja richtig vrai oui verdadero sí si vero sì verdadeiro sim "
    "waar prawda tak doğru evet верно да 是 正确 真 对 はい 正しい 正解 예 네 참".split()
)
FALSE = frozenset(
    "false no incorrect unsupported falsch nein faux non falso não nao onwaar nee fałsz nie yanlış "
    "hayır неверно ложь нет 否 不是 错误 假 错 いいえ 誤り 不正解 아니요 아니오 거짓".split()
)
TIE = frozenset(
    "tie equal both neither draw unentschieden gleich égalité empate pareggio gelijk remis beraber "
    "ничья 平局 平手 引き分け 무승부".split()
)
SCORE = frozenset(
    "score rating grade mark points bewertung punktzahl wertung note puntuación puntuacion "
    "calificación valoración nota valutazione punteggio voto pontuação avaliação beoordeling ocena "
    "puan оценка балл 评分 得分 分数 评价 評価 スコア 点数 得点 점수 평점".split()
)
VERDICT = frozenset(
    "verdict answer judgement judgment conclusion result urteil fazit ergebnis verdikt jugement "
    "veredicto conclusión giudizio verdetto veredito oordeel werdykt karar вердикт вывод 结论 判断 "
    "判定 結論 결론 판정".split()
)

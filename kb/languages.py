"""How other languages than English spell what the schema names: verdicts, labels, front-matter fields and folders. Words only.

A wiki that keeps its trail in German or Chinese is read by the same rules; a spelling that is missing here is a line to add. What is
looked for in running text stands as a stem, so that its inflections are met.
"""

from collections.abc import Mapping

# Stems by verdict, looked for in this order: what denies comes before what it denies (不成立 before 成立).
VERDICTS: Mapping[str, str] = {
    "invalid": "ungültig invalide inválid 作废 作廢 無効 무효",
    "crash": (
        "abgestürzt absturz fehlgeschlagen abgebrochen abbruch planté échoué échec gecrasht vastgelopen mislukt caído fallid falló travou falhou fallit упал ошибк сбой "
        "崩溃 崩潰 报错 錯誤 错误 クラッシュ エラー 크래시 오류"
    ),
    "refuted": (
        "verworfen widerlegt abgelehnt zurückgenommen zurückgerollt gescheitert rejeté réfuté infirmé abandonné écarté annulé rechazad "
        "descartad refutad revertid rejeitad respint scartat confutat verworpen weerlegd afgewezen teruggedraaid отклон отверг опроверг откачен "
        "不成立 不采用 不採用 否定 否决 驳回 駁回 拒绝 废弃 廢棄 放弃 回滚 回滾 回退 证伪 证否 失败 失敗 棄却 却下 反証 기각 폐기 반증"
    ),
    "inconclusive": (
        "unklar unentschieden ergebnislos non-concluant indécis peu-concluant inconclus no-concluyente inconcludent onbeslist неясн "
        "неопредел 不确定 不確定 待定 无结论 無結論 未确认 未確認 持平 不明 判定不能 引き分け 불확실 보류"
    ),
    "supported": (
        "bestätigt übernommen angenommen bewährt behalten confirmé retenu adopté validé gardé confirmad aceptad adoptad mantenid aceit "
        "adotad confermat accettat adottat mantenut bevestigd aangenomen behouden подтвержд принят оставлен 成功 성공 成立 采纳 采用 採用 採納 确认 確認 "
        "证实 保留 上线 支持 채택 확인 유지"
    ),
    "baseline": "ausgangswert vergleichswert uitgangspunt référence línea-base базов 基线 基線 ベースライン 베이스라인",
}

# What answers a question that a header asks.
ANSWERS: Mapping[str, str] = {
    "yes": "ja oui sí si sim sì да 是 はい 예",
    "no": "nein non não нет 否 いいえ 아니오",
}

# What says that a run is still to end.
RUNNING = "offen läuft laufend geplant ouvert en-cours prévu abierto en-curso em-andamento in-corso открыт идёт план 进行中 進行中 计划中 待办 計画中 実行中 진행".split()

# What stands before a verdict and turns it round; Japanese and Korean turn a word round behind it.
DENIALS = (
    "not never nicht kein keine keinen nichts ohne non nessun nessuna senza pas aucun aucune rien sans no ningún ninguna sin nada não "
    "nenhum nenhuma sem не нет без ни niet geen"
).split()
DENIED_IN = "没有 沒有 没 沒 无 無 未 不"
DENIED_BEHIND = "ない なし なかった せず 없 않 못"
# What denies a verb behind it, at the end of its clause ("lohnt sich nicht", "no aporta nada").
DENIED_LAST = "nicht nichts kaum rien nada nulla niente niets niet ничего"

# How a sentence begins that speaks of all that it introduces; the second list is of scripts that set no blanks between words.
OF_ALL = frozenset(
    "each every all none everything nothing neither both jede jeder jedes alle alles keine keiner keines chaque tous toutes tout aucun aucune cada todos "
    "todas todo ninguno ninguna nenhum nenhuma ogni tutti tutte tutto nessuno nessuna elke geen каждый каждая каждое все всё ни".split()
)
OF_ALL_UNSPACED = tuple("每 所有 全部 均 すべて 全て どれも 모두 모든".split())

# Stems that say in running text how something went, by what they say. Of `use` only the denial says anything ("kein Gewinn").
REPORTS: Mapping[str, str] = {
    "worse": (
        "zu-langsam trop-lent demasiado-lent muy-lent troppo-lent te-langzaam слишком-медлен 太慢 遅すぎ 너무-느 langsamer schlechter verschlechter teurer ungenauer instabil plus-lent moins-bon moins-bien pire dégrad más-lent peor empeor mais-lent pior piorou "
        "più-lent peggio langzamer slechter медленнее хуже ухудш 变慢 變慢 更慢 更差 变差 變差 更糟 退化 恶化 惡化 不如 遅くな 遅い 悪化 劣化 落ちすぎ 느려 악화 나빠"
    ),
    "failed": (
        "aufgegeben eingestellt rückgebaut wieder-ausgebaut wieder-entfernt wieder-raus fehlschlag nutzlos wirkungslos vergeblich überflüssig "
        "annulé retiré supprimé revenu-à revient-à reviens-à revenus-à retour-à laissé-tomber peine-perdue inutile se-quitó quitado desechad volvimos-a en-vano no-compens removid desistimos voltamos em-vão "
        "tolto rimosso tornati-a invano opgegeven teruggedraaid nutteloos бесполезн убрали вернулись-к зря sackgasse gescheitert rückgängig unbrauchbar impasse abandonar abandonad callejón callejones naufragat abbandonat тупик "
        "отказались откатили 没用 沒用 无效 無效 回滚 回滾 撤销 撤回 恢复原 恢復原 改回 弃用 白费 得不偿失 元に戻 取りやめ 取り止め 見送 ボツ 没に 外した 撤去 諦め 断念 逆効果 使えな うまくいかな 되돌 소용없 포기 제거했 무의미 안-된 안-됐 효과-없 走不通 ダメだっ неудач raté"
    ),
    # What went wrong, which something tried does by failing and anything else by chance.
    "wrong": "fehlgeschlagen échoué falló fracas fallit fallid провал 失败 失敗 실패",
    "better": (
        "schneller besser verbesser hilft geholfen funktionier lohnt plus-rapide meilleur amélior aidé aide fonctionn marché "
        "más-rápid mejora mejoró ayud funcion sirv vale-la-pena mais-rápid melhor ajud vale-a-pena più-veloc miglior aiut funzion "
        "sneller beter verbeter helpt hielp быстрее лучше улучш помог помож сработа 提升 改善 变快 變快 更快 加快 向上 速くな 빨라 개선"
    ),
    "use": (
        "gebracht bringt brachte gewinn nutzen wirkung effekt unterschied vorteil mehrwert apporté apporte gain effet utile différence bénéfice avantage intérêt aportó aporta efecto ganancia palanca diferencia beneficio ventaja sentido "
        ""
        "adiant efeito ganho effett guadagn utile winst прирост эффект выигрыш толк пользы 效果 帮助 幫助 收益 变化 變化 差别 差別 区别 作用 好处 优势 意义 意義 効果 効か 差は出 差が出 メリット 改善し 効き 효과 차이 이득"
    ),
    # What is wanted, feared or supposed, and reports nothing.
    "supposed": (
        "ziel: objectif: objectif-: objetivo: obiettivo: doel: цель: vor-dem-fix vor-der-änderung avant-le-correctif antes-del-cambio prima-della-modifica 修复前 修正前 falls wenn wäre wären würde könnte dürfte vielleicht serait pourrait peut-être sería podría quizás seria poderia talvez sarebbe potrebbe forse zou бы может-быть かもしれない 可能会 也许 아마 soll sollte muss müssen damit nicht-mehr-als doit devra faut debe deben hay-que para-que deve devem если должен должна нужно "
        "чтобы 如果 若 应当 应该 應該 需要 必须 必須 确保 確保 避免 目标 目標 场合 場合 なければ ならば であれば べき こと 確認する 確かめる 防ぐ ように "
        "たら 条件 경우 해야 하면 되면 목표 확인한다 확인하 않도록"
    ),
    "kept": "bleibt beibehalten ist-drin im-einsatz eingebaut gardé conservé en-service en-production se-queda quedó en-producción fica ficou em-produção rimane in-produzione blijft in-gebruik оставили остаётся остается 保留 采用 採用 上线 유지",
    "open": (
        "noch-nicht noch-zu noch-offen steht-noch-aus geplant vorgesehen prévu à-mesurer à-faire por-medir por-hacer a-medir por-fazer da-fare da-misurare nog-te планиру à-essayer à-tester pas-encore pendiente por-probar todavía-no aún-no pendente ainda-não a-testar da-provare "
        "non-ancora nog-niet попробовать ещё-не еще-не 计划 計劃 尚未 还没 還沒 待测 待試 未测试 今後 未検証 まだ 예정 아직"
    ),
}

# Stems that say which way a measure moved, English among them, and words that join two clauses.
MOVES: Mapping[str, str] = {
    "up": (
        "went-up goes-up going-up up-by up-from is-up was-up up-\\d rose rises rising risen grew grown climbed climbs jumped jumps increased increases doubled doubles tripled quadrupled soared "
        "higher larger longer more-than-before gestiegen steigt stieg erhöht verdoppelt höher monté monte augment doublé hausse remont subió sube subi subiu aument creció crece dobl aument salit sale "
        "gestegen hoger вырос увелич поднял возрос удвои 上升 增加 升高 变长 變長 涨 上がっ 増え 増加 伸び 증가 올라 늘어"
    ),
    "down": (
        "went-down goes-down going-down down-by down-from is-down was-down down-\\d fell falls falling fallen dropped drops decreased decreases shrank shrunk halved sank sinks slumped collapsed lost "
        "lower smaller shorter gesunken sinkt sank gefallen fällt fiel halbiert kürzer niedriger baiss chut tomb diminu descend bajó baja baj cayó cae reduj redujo caiu cai diminui reduziu scende sces calat cala dimezz "
        "gedaald daalt lager снизил упал уменьш сократ падает 下降 减少 減少 降低 缩短 縮短 下跌 下がっ 減っ 短く 縮ん 감소 떨어 줄어 내려"
    ),
}
JOINS = "but and while though yet und aber doch während et mais alors y pero mientras e mas enquanto ma mentre en maar и но а"

# Labels of a body and fields of the front matter, by what they are in English.
LABELS: Mapping[str, str] = {
    "change": "änderung maßnahme changement modification cambio mudança alteração modifica wijziging изменение параметр 改动 改動 变更 變更 修改 参数 參數 変更 변경",
    "hypothesis": "hypothese these annahme hypothèse hipótesis hipótese ipotesi гипотеза 假设 假設 仮説 가설",
    "mechanism": "mechanismus wirkweise begründung mécanisme mecanismo meccanismo механизм 机制 機制 原理 仕組み 메커니즘",
    "predicted signal": "erwartung vorhersage attendu prédiction esperado predicción previsione ожидание 预期 預期 予測 예상",
    "falsification criterion": "abbruchkriterium widerlegt-wenn critère criterio критерий 判据 反証条件 기준",
    "experiment": "versuch expérience essai experimento ensayo esperimento эксперимент опыт 实验 實驗 実験 실험",
    "verdict": "fazit urteil verdikt entscheidung besluit oordeel verdict décision decisión decisão решение veredicto veredito verdetto conclusão вердикт 结论 結論 判定 判断 決定 판정 결정",
    "result": "ergebnis résultat resultado risultato resultaat результат 结果 結果 결과",
    "reason": "grund raison motivo razón razão ragione reden причина 原因 理由 이유",
    "status": "stand état statut estado stato статус 状态 狀態 ステータス 상태",
    "date": "datum fecha data дата 日期 日付 날짜",
    "summary": "zusammenfassung kurzfassung kurz-gesagt résumé en-bref resumen resumo riassunto samenvatting резюме итог 摘要 总结 總結 概要 要約 まとめ 요약",
    "title": "titel titre título titolo название 标题 標題 タイトル 제목",
    "tags": "schlagworte étiquettes etiquetas теги 标签 標籤 タグ 태그",
}

# Stems of what is measured, by the side that is better; what a run consumes beside its aim is told apart.
METRICS: Mapping[str, str] = {
    "lower": (
        "latenz laufzeit dauer zeit verlust fehler kosten doorlooptijd looptijd duur tijd fout latence temps durée perte erreur coût latencia tiempo duración pérdida tempo "
        "время задержк потер ошибк 延迟 延遲 耗时 时间 時間 损失 損失 误差 誤差 错误率 困惑度 回撤 成本 処理時間 遅延 誤り率 지연 시간 손실 오류"
    ),
    "higher": (
        "durchsatz genauigkeit trefferquote doorvoer nauwkeurigheid débit exactitude rendimiento exactitud precisión точност пропускн 夏普 收益 吞吐 准确率 準確率 "
        "精度 召回 正解率 スループット 정확도 처리량"
    ),
    "resource": "speicher geheugen mémoire memoria памят 内存 显存 メモリ 메모리",
}

# Folders by page type.
FOLDERS: Mapping[str, str] = {
    "experiment": "experimente expériences essais experimentos ensayos esperimenti experimenten эксперименты опыты 实验 實驗 実験 실험",
    "hypothesis": "hypothesen hypothèses hipótesis hipóteses ipotesi гипотезы 假设 假設 仮説 가설",
    "concept": "konzepte begriffe concepts conceptos conceitos concetti понятия 概念 개념",
    "observation": "beobachtungen observations observaciones observações osservazioni наблюдения 观察 觀察 観察 관찰",
    "analysis": "analysen analyses análisis análises analisi entscheidungen décisions decisiones анализ 分析 决策 決策 분석",
    "source": "quellen sources fuentes fontes fonti источники 来源 來源 出典 출처",
}


def spellings(table: Mapping[str, str], name: str) -> tuple[str, ...]:
    """What other languages write for one entry; a hyphen stands for a space."""
    return tuple(word.replace("-", " ") for word in table.get(name, "").split())


def denied(stems: str) -> str:
    """A pattern of stems that a sign or an ending denies, or a word at the end of their clause."""
    within, behind, last = (s.replace(" ", "|") for s in (DENIED_IN, DENIED_BEHIND, DENIED_LAST))
    signs = rf"(?:{within}|没有\w{{1,5}}?)(?:{stems})|(?:{stems})\w{{0,3}}?(?:{behind})"
    return rf"{signs}|(?<![^\W_])(?:{stems})\w* (?:\w+ ){{0,4}}?(?:{last})(?=\W*$|[.,;:!])"


def english_of(table: Mapping[str, str]) -> dict[str, str]:
    """The English entry of every spelling."""
    return {word: name for name in table for word in spellings(table, name)}

;; Reads the history of a Jepsen test, as EDN, and writes its operations as JSON, one a line.
(require '[clojure.edn :as edn])

(defn json [value]
  (cond
    (nil? value) "null"
    (keyword? value) (json (name value))
    (string? value) (let [escaped (fn [char]
                                    (case char
                                      \" "\\\""
                                      \\ "\\\\"
                                      (if (< (int char) 32) (format "\\u%04x" (int char)) (str char))))]
                      (str \" (apply str (map escaped value)) \"))
    (integer? value) (str value)
    (map? value) (str "{"
                      (apply str (interpose "," (map (fn [[key one]] (str (json key) ":" (json one))) value)))
                      "}")
    :else (throw (ex-info "no value of a history" {:value value}))))

(def types #{:invoke :ok :fail :info})

(defn check [number operation]
  (when-not (and (map? operation)
                 (= number (:index operation))
                 (integer? (:time operation))
                 (or (= :nemesis (:process operation)) (integer? (:process operation)))
                 (types (:type operation))
                 (keyword? (:f operation))
                 (map? (:value operation)))
    (throw (ex-info "no operation of a history" {:operation operation}))))

(let [history (edn/read *in*)]
  (when-not (vector? history)
    (throw (ex-info "no vector of operations" {})))
  (doseq [[number operation] (map-indexed vector history)]
    (check number operation)
    (println (json operation))))

package lockwheel;

/** The use of one object in each of a client's turns. */
interface Contender {
    void turn(Referee referee, long turn) throws Exception;
}
